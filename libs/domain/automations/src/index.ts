export {
  type CompiledTrigger,
  type SampledEvent,
  TriggerProvider,
  type TriggerObstacle,
  type TriggerSample,
  type TriggerSchema,
  type TriggerScope,
} from './application/trigger-provider.js';
export { TriggerProviders } from './application/trigger-providers.js';
export type { Automation, AutomationFields, AutomationSource } from './domain/automation.js';
export {
  evaluatePayloadFilter,
  type FilterVerdict,
  parsePayloadFilter,
  type ParsedFilter,
  PAYLOAD_FILTER_SCHEMA,
  type PayloadFilter,
} from './domain/payload-filter/index.js';
export type { Trigger, TriggerCheck, TriggerEvent } from './domain/trigger.js';

export { FireAutomations } from './application/fire-automations.js';
export { FIRING_STEPS, type FiringStep, FiringSteps } from './application/firing-steps.js';
export { AutomationsJobsModule } from './automations-jobs.module.js';
export { FiringModule } from './firing.module.js';
export { TriggersModule } from './triggers.module.js';
export { DefinedAutomations } from './application/defined-automations.js';
export { AutomationsHttpModule } from './automations-http.module.js';
export { AutomationsModule } from './automations.module.js';
export { AUTOMATIONS_ENCRYPTED_COLUMNS } from './persistence/encrypted-columns.js';
