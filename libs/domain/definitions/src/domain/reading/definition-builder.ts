import type {
  AgentSpec,
  AutomationSpec,
  DefinitionFile,
  FactoryDefinition,
  FactorySpec,
  WebhookSpec,
} from '../definition.js';
import type { PlacedFile } from '../files/check-files.js';
import {
  agentSpec,
  type AgentValue,
  automationSpec,
  type AutomationValue,
  factorySpec,
  type FactoryValue,
  webhookSpec,
  type WebhookValue,
} from './specs.js';

/** Puts a definition together, file by file. */
export class DefinitionBuilder {
  private factory: FactorySpec | undefined;
  private readonly webhooks: WebhookSpec[] = [];
  private readonly automations: AutomationSpec[] = [];
  private readonly agents: AgentSpec[] = [];
  private readonly skills: DefinitionFile[] = [];

  /** `value`: what the schema of its kind has let through. */
  add({ path, text, place }: PlacedFile, value: unknown, prompt: string): void {
    switch (place.kind) {
      case 'factory':
        this.factory = factorySpec(value as FactoryValue);
        return;
      case 'webhook':
        this.webhooks.push(webhookSpec(place.name, value as WebhookValue));
        return;
      case 'automation':
        this.automations.push(automationSpec(place.name, value as AutomationValue, prompt));
        return;
      case 'agent':
        this.agents.push(agentSpec(place.name, value as AgentValue, prompt));
        return;
      case 'skill':
        this.skills.push({ path, content: text });
    }
  }

  /** undefined without a factory.yaml. */
  build(): FactoryDefinition | undefined {
    return (
      this.factory && {
        factory: this.factory,
        webhooks: byName(this.webhooks),
        automations: byName(this.automations),
        agents: byName(this.agents),
        skills: this.skills,
      }
    );
  }
}

function byName<Spec extends { readonly name: string }>(specs: readonly Spec[]): ReadonlyMap<string, Spec> {
  const sorted = [...specs].sort((one, other) => (one.name < other.name ? -1 : 1));
  return new Map(sorted.map((spec) => [spec.name, spec]));
}
