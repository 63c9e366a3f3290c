import { createHash } from 'node:crypto';
import { type Issue, prefixIssues } from '#platform/kernel';
import type { ConcurrencyPolicy } from '#domain/runs';
import { FORGE_PROVIDERS } from './forge-events/forge-event.js';
import { readPrompt, valueAt } from './placeholders.js';
import type { TriggerEvent } from './trigger.js';

export const CONCURRENCY_POLICIES = [
  'allow',
  'skip',
  'supersede',
  'continue',
] as const satisfies readonly ConcurrencyPolicy[];
/** Characters. */
export const MAX_CONCURRENCY_KEY = 500;
export const MAX_FOLLOWUPS = 1000;
const MAX_PLAIN_KEY = 300;

/** What happens when an event matches while a run for the same key exists. */
export interface AutomationConcurrency {
  readonly policy: ConcurrencyPolicy;
  /** With placeholders. Null: the target of the event; for events without one, the automation. */
  readonly key: string | null;
  /** How many follow-ups the automation sends to one run. Null: any number. */
  readonly maxFollowups: number | null;
}

export function concurrencyIssues(
  concurrency: AutomationConcurrency | null,
  triggers: readonly unknown[],
): readonly Issue[] {
  if (concurrency === null) return [];
  const { policy, key, maxFollowups } = concurrency;
  const issues: Issue[] = [];
  const read = key === null ? null : readPrompt(key);
  if (key?.trim() === '') issues.push({ pointer: '/key', detail: 'must not be blank' });
  if (read?.kind === 'invalid') issues.push({ pointer: '/key', detail: read.detail });
  if (maxFollowups !== null && policy !== 'continue')
    issues.push({ pointer: '/max_followups', detail: 'is allowed with the policy continue only' });
  if (policy === 'continue' && !triggers.some(isOfForge))
    issues.push({
      pointer: '/policy',
      detail: `continue needs a trigger of ${FORGE_PROVIDERS.join(' or ')}: other events always start a run`,
    });
  return prefixIssues('/concurrency', issues);
}

const isOfForge = (trigger: unknown): boolean =>
  (FORGE_PROVIDERS as readonly unknown[]).includes((trigger as { provider?: unknown } | null)?.provider);

interface Keyed {
  readonly uid: string;
  readonly concurrency: AutomationConcurrency | null;
}

/** The key of the run for an event, unique in the team. Automations of a factory share the key of a target. */
export function concurrencyKey({ uid, concurrency }: Keyed, event: TriggerEvent): string {
  if (concurrency?.key != null)
    return `automation/${uid}/${shortened(withValues(concurrency.key, event.readPayload()))}`;
  return event.target ? `factory/${event.factoryUid}/${shortened(event.target.key)}` : `automation/${uid}`;
}

const shortened = (text: string): string =>
  text.length <= MAX_PLAIN_KEY ? text : createHash('sha256').update(text).digest('hex');

/** A missing value and one that is no text, number or boolean become an empty text. */
function withValues(key: string, payload: unknown): string {
  const read = readPrompt(key);
  if (read.kind === 'invalid') return key;
  return read.parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      const value = valueAt(payload, part.value.path);
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
    })
    .join('');
}
