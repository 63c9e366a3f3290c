import { maskConfig } from '#domain/runs';
import type { AutomationView } from '../application/automations.service.js';
import {
  type AutomationItem,
  type CreateAutomationRequest,
  MAX_PAYLOAD_BYTES,
  type TestAutomationTriggerRequest,
  type TestTriggerResponse,
} from './automation.dto.js';
import { invalidInput, ProblemError, type ResourceProblems, tooLarge } from '#platform/http';
import type { TriggerSample } from '../application/trigger-provider.js';
import { type AutomationAnswers, automationAnswers } from '../domain/answers.js';
import type { RequestedAutomation } from '../domain/automation.js';
import type { TriggerTest } from '../application/test-trigger.js';

type AutomationRejection = { readonly kind: 'unknown_trigger' } | { readonly kind: 'name_is_defined' };

export const AUTOMATION: ResourceProblems<AutomationRejection> = {
  noun: 'automation',
  plural: 'automations',
  owner: 'A factory',
  problems: {
    unknown_trigger: () =>
      new ProblemError('resource_not_found', 'The automation has no trigger at this index; it counts from 0.'),
    name_is_defined: () => {
      const detail = 'is that of its file in the definition of the factory: rename it there';
      return new ProblemError('operation_not_supported', `\`name\` ${detail}.`, {
        errors: [{ pointer: '/name', detail }],
      });
    },
  },
};

export const presentTest = ({ wouldTrigger, checks }: TriggerTest): TestTriggerResponse => ({
  would_trigger: wouldTrigger,
  verdict: wouldTrigger ? 'Would trigger' : 'Would not trigger',
  checks: [...checks],
});

export function presentAutomation({ automation, obstacles }: AutomationView): AutomationItem {
  const { agentConfig, agentIdentityUid, answers, concurrency } = automation;
  return {
    uid: automation.uid,
    name: automation.name,
    enabled: automation.enabled,
    prompt: automation.prompt,
    ...(agentConfig !== null && { agent_config: maskConfig(agentConfig) }),
    ...(agentIdentityUid !== null && { agent_identity_uid: agentIdentityUid }),
    ...(concurrency !== null && {
      concurrency: {
        policy: concurrency.policy,
        ...(concurrency.key !== null && { key: concurrency.key }),
        ...(concurrency.maxFollowups !== null && { max_followups: concurrency.maxFollowups }),
        ...(concurrency.delaySeconds !== undefined && { delay_seconds: concurrency.delaySeconds }),
      },
    }),
    ...(answers !== null && { answers: presentAnswers(answers) }),
    ...(automation.eventRepository && { event_repository: true }),
    triggers: automation.triggers.map((trigger) => {
      const obstacle = obstacles.get(trigger);
      return { ...trigger, ...(obstacle && { obstacle: { ...obstacle } }) };
    }),
    source: automation.source,
    created_at: automation.createdAt.toISOString(),
    updated_at: automation.updatedAt.toISOString(),
  };
}

const presentAnswers = ({ comment, check, reaction, secretName, decisions }: AutomationAnswers) => ({
  comment,
  check,
  reaction,
  ...(secretName !== undefined && { secret_name: secretName }),
  ...(decisions && { decisions }),
});

/** Absent and null are the same. */
export function toRequestedAutomation(body: CreateAutomationRequest): RequestedAutomation {
  const { name, enabled, prompt, agent_config: config, agent_identity_uid: identity, concurrency, triggers } = body;
  return {
    name,
    enabled,
    prompt,
    agentConfig: config ? plain(config) : null,
    agentIdentityUid: identity ?? null,
    concurrency: concurrency
      ? {
          policy: concurrency.policy,
          key: concurrency.key ?? null,
          maxFollowups: concurrency.max_followups ?? null,
          ...(concurrency.delay_seconds !== undefined && { delaySeconds: concurrency.delay_seconds }),
        }
      : null,
    answers: automationAnswers(body.answers && { ...body.answers, secretName: body.answers.secret_name }),
    eventRepository: body.event_repository ?? false,
    triggers: triggers.map(withoutObstacle),
  };
}

/** `obstacle` is part of responses only. */
export function withoutObstacle(trigger: unknown): unknown {
  if (typeof trigger !== 'object' || trigger === null || Array.isArray(trigger)) return trigger;
  return Object.fromEntries(Object.entries(trigger).filter(([key]) => key !== 'obstacle'));
}

/** Throws a problem unless exactly one of delivery and payload, which may be null, is given. */
export function toSample({ delivery_id: deliveryId, payload }: TestAutomationTriggerRequest): TriggerSample {
  if ((deliveryId === undefined) === (payload === undefined))
    throw invalidInput([{ pointer: '', detail: 'must have exactly one of delivery_id and payload' }]);
  if (deliveryId !== undefined) return { kind: 'delivery', deliveryId };
  if (Buffer.byteLength(JSON.stringify(payload)) > MAX_PAYLOAD_BYTES) {
    const detail = `must not exceed ${MAX_PAYLOAD_BYTES} bytes as JSON, like a delivery`;
    throw tooLarge({ pointer: '/payload', detail });
  }
  return { kind: 'payload', payload };
}

/** A plain copy without undefined properties and without the prototype of the DTO. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
