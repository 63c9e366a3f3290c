import { createHash } from 'node:crypto';
import type { IdentityFields } from '#domain/agents';
import { canonicalJson } from '#platform/kernel';
import type { FactorySpec, WebhookSpec } from './definition.js';
import type { DesiredAutomation } from './desired-state.js';

/** What a resource is, as far as files can say it: by the names that fields have in the files. */
export type Shape = Readonly<Record<string, unknown>>;

/** SHA-256 of what the shape says. Fields that are not set, or empty, say nothing. */
export function fingerprint(shape: Shape): string {
  return createHash('sha256')
    .update(canonicalJson(spoken(shape)))
    .digest('hex');
}

export function differences(one: Shape, other: Shape): string[] {
  const [left, right] = [spoken(one), spoken(other)];
  const fields = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...fields].filter((field) => canonicalJson(left[field]) !== canonicalJson(right[field])).sort();
}

function spoken(shape: Shape): Record<string, unknown> {
  return Object.fromEntries(Object.entries(shape).filter(([, value]) => !isSilent(value)));
}

function isSilent(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export const factoryShape = (spec: FactorySpec): Shape => ({ ...spec });

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
    ...(fields.concurrency !== null && { concurrency: fields.concurrency }),
    ...(fields.answers !== null && { answers: fields.answers }),
    ...(fields.eventRepository && { eventRepository: true }),
    agent,
    model: model_id,
    environmentId: environment_id,
    workerHost: worker_host,
    harness,
    mcpServers: mcp_servers,
    agentConfig: others,
  };
}
