import type { IdentityFields } from '#domain/agents';
import type { DesiredAutomation } from './desired-state.js';
import type { FactorySpec, WebhookSpec } from './definition.js';
import type { Shape } from './fingerprint.js';

export const factoryShape = ({ name, description, alias, agentDefaults }: FactorySpec): Shape => ({
  name,
  description,
  alias,
  agentDefaults,
});

/** The version of its secret is no part of it: files do not say which. */
export const webhookShape = (webhook: Omit<WebhookSpec, 'name'>): Shape => ({
  authMode: webhook.authMode,
  signatureScheme: webhook.signatureScheme,
  secretName: webhook.secretName,
  deliveryIdHeader: webhook.deliveryIdHeader?.toLowerCase(),
  enabled: webhook.enabled,
});

/** All of it, also what files cannot say: that is to be as in a new identity. */
export const agentShape = (identity: IdentityFields): Shape => ({
  name: identity.name,
  description: identity.description,
  prompt: identity.prompt,
  model: identity.baseModel,
  environmentId: identity.environmentId,
  workerHost: identity.workerHost,
  harness: identity.harness,
  mcpServers: identity.mcpServers,
  defaultRunner: identity.defaultRunnerUid,
  skills: identity.skills,
  autoMemory: identity.autoMemory ? true : null,
  available: identity.available ? null : false,
});

/** Settings by the names that they have in files; what else a configuration holds is its `agentConfig`. */
export function automationShape({ fields, agent }: DesiredAutomation): Shape {
  const { model_id, environment_id, worker_host, harness, mcp_servers, ...others } = fields.agentConfig ?? {};
  return {
    enabled: fields.enabled,
    prompt: fields.prompt,
    triggers: fields.triggers,
    agent,
    model: model_id,
    environmentId: environment_id,
    workerHost: worker_host,
    harness,
    mcpServers: mcp_servers,
    agentConfig: others,
  };
}
