export { type AutomationAnswers, automationAnswers } from './domain/answers.js';
export { DefinedAutomations } from './application/defined-automations.js';
export {
  type AutomationConcurrency,
  CONCURRENCY_POLICIES,
  MAX_CONCURRENCY_KEY,
  MAX_FOLLOWUPS,
} from './domain/concurrency.js';
export { FireAutomations } from './application/fire-automations.js';
export {
  type CompiledTrigger,
  type SampledEvent,
  TriggerProvider,
  type TriggerObstacle,
  type TriggerSample,
  type TriggerScope,
} from './application/trigger-provider.js';
export { TriggerProviders } from './application/trigger-providers.js';
export { AutomationsHttpModule, AutomationsJobsModule, AutomationsModule } from './automations.module.js';
export { type Automation, type AutomationFields, AUTOMATIONS_ENCRYPTED_COLUMNS } from './domain/automation.js';
export { PAYLOAD_FILTER_SCHEMA } from './domain/payload-filter/schema.js';
export type { Trigger, TriggerCheck, TriggerEvent } from './domain/trigger.js';
