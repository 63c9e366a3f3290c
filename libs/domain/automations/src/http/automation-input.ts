import { ProblemError } from '#platform/http';
import type { TriggerSample } from '../application/trigger-provider.js';
import type { RequestedAutomation } from '../domain/requested-automation.js';
import type { CreateAutomationRequest } from './automation.dto.js';
import { invalidFields } from './automation-refusals.js';
import { MAX_PAYLOAD_BYTES, type TestAutomationTriggerRequest } from './test-trigger.dto.js';

/** What is absent or null is not there. */
export function toRequestedAutomation(body: CreateAutomationRequest): RequestedAutomation {
  const { name, enabled, prompt, agent_config: config, agent_identity_uid: identity, triggers } = body;
  return {
    name,
    enabled,
    prompt,
    agentConfig: config ? plain(config) : null,
    agentIdentityUid: identity ?? null,
    triggers: triggers.map(withoutObstacle),
  };
}

/** What answers say about a trigger is no part of it. */
export function withoutObstacle(trigger: unknown): unknown {
  if (typeof trigger !== 'object' || trigger === null || Array.isArray(trigger)) return trigger;
  return Object.fromEntries(Object.entries(trigger).filter(([key]) => key !== 'obstacle'));
}

/** Exactly one of delivery and payload, which may be null. Throws a problem for anything else. */
export function toSample({ delivery_id: deliveryId, payload }: TestAutomationTriggerRequest): TriggerSample {
  if ((deliveryId === undefined) === (payload === undefined))
    throw invalidFields([{ pointer: '', detail: 'must have exactly one of delivery_id and payload' }]);
  if (deliveryId !== undefined) return { kind: 'delivery', deliveryId };
  if (Buffer.byteLength(JSON.stringify(payload)) > MAX_PAYLOAD_BYTES) {
    const detail = `must not exceed ${MAX_PAYLOAD_BYTES} bytes as JSON, like a delivery`;
    throw new ProblemError('payload_too_large', `\`payload\` ${detail}.`, {
      errors: [{ pointer: '/payload', detail }],
    });
  }
  return { kind: 'payload', payload };
}

/** Without unset properties: the DTO's prototype has no business in the store. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
