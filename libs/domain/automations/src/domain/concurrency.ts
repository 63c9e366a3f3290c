import { type Issue, prefixIssues, shortKey } from '#platform/kernel';
import type { ConcurrencyPolicy } from '#domain/runs';
import { FORGE_PROVIDERS } from './forge-events/forge-event.js';
import { SLACK } from './slack-events/slack-event.js';
import { readPrompt, valueAt } from './placeholders.js';
import type { TriggerEvent } from './trigger.js';

export const CONCURRENCY_POLICIES = [
  'allow',
  'skip',
  'supersede',
  'continue',
  'queue',
  'debounce',
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
  /** With `debounce`. Default: `DEFAULT_DELAY_SECONDS`. */
  readonly delaySeconds?: number;
}

export function concurrencyIssues(
  concurrency: AutomationConcurrency | null,
  triggers: readonly unknown[],
): readonly Issue[] {
  if (concurrency === null) return [];
  const { policy, key, maxFollowups, delaySeconds } = concurrency;
  const issues: Issue[] = [];
  const read = key === null ? null : readPrompt(key);
  if (key?.trim() === '') issues.push({ pointer: '/key', detail: 'must not be blank' });
  if (read?.kind === 'invalid') issues.push({ pointer: '/key', detail: read.detail });
  if (maxFollowups !== null && policy !== 'continue')
    issues.push({ pointer: '/max_followups', detail: 'is allowed with the policy continue only' });
  if (delaySeconds !== undefined && policy !== 'debounce')
    issues.push({ pointer: '/delay_seconds', detail: 'is allowed with the policy debounce only' });
  if (policy === 'continue' && !triggers.some(hasTarget))
    issues.push({
      pointer: '/policy',
      detail: `continue needs a trigger of ${WITH_TARGETS.join(', ')}: other events always start a run`,
    });
  return prefixIssues('/concurrency', issues);
}

/** Providers whose events have a target. */
const WITH_TARGETS: readonly unknown[] = [...FORGE_PROVIDERS, SLACK];

const hasTarget = (trigger: unknown): boolean =>
  WITH_TARGETS.includes((trigger as { provider?: unknown } | null)?.provider);

interface Keyed {
  readonly uid: string;
  readonly concurrency: AutomationConcurrency | null;
}

export interface ConcurrencyKeys {
  /** The policy of the automation compares the runs with this key. */
  readonly key: string;
  /** Of the target, which all automations of a factory share: `continue` finds the newest run for it. Null: the same, or no target. */
  readonly sharedKey: string | null;
}

/** The key that runs for events of a target hold, whichever automation of the factory has started them. */
export const sharedKeyOf = (factoryUid: string, targetKey: string): string =>
  `factory/${factoryUid}/${shortKey(targetKey, MAX_PLAIN_KEY)}`;

/** The keys of the run for an event, unique in the team. */
export function concurrencyKeys({ uid, concurrency }: Keyed, event: TriggerEvent): ConcurrencyKeys {
  const { policy = event.target?.defaultPolicy ?? 'allow', key = null } = concurrency ?? {};
  const ofTarget = event.target ? sharedKeyOf(event.factoryUid, event.target.key) : null;
  if (key !== null) return { key: ownKey(uid, withValues(key, event.readPayload())), sharedKey: ofTarget };
  if (ofTarget !== null && (policy === 'allow' || policy === 'continue')) return { key: ofTarget, sharedKey: null };
  return { key: ownKey(uid, event.target?.key ?? ''), sharedKey: ofTarget };
}

const ownKey = (uid: string, text: string): string => `automation/${uid}/${shortKey(text, MAX_PLAIN_KEY)}`;

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
