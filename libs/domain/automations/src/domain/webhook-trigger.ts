import { type Issue, isUid, pointerOf, prefixIssues, type RejectionOf } from '#platform/kernel';
import { isObject } from './payload-filter/filter.js';
import { parsePayloadFilter } from './payload-filter/parse.js';
import type { Trigger } from './trigger.js';

export type ReadWebhookTrigger = { readonly kind: 'valid'; readonly webhookUid: string } | RejectionOf<'invalid'>;

/** Parses the `filter` of a `webhook` / `received` trigger: `webhook_ids` with one UID, and a payload filter. */
export function readWebhookTrigger(trigger: Trigger): ReadWebhookTrigger {
  const { filter } = trigger;
  if (!isObject(filter))
    return { kind: 'invalid', issues: [{ pointer: '/filter', detail: 'must be an object with webhook_ids' }] };
  const issues: Issue[] = Object.keys(filter)
    .filter((key) => key !== 'webhook_ids' && key !== 'payload')
    .map((key) => ({
      pointer: pointerOf('filter', key),
      detail: 'is not a known field: a filter has webhook_ids and payload',
    }));
  issues.push(...webhookIssues(filter.webhook_ids));
  if (filter.payload !== undefined) {
    const parsed = parsePayloadFilter(filter.payload);
    if (parsed.kind === 'invalid') issues.push(...prefixIssues('/filter/payload', parsed.issues));
  }
  const uid = webhookOf(trigger);
  return issues.length > 0 || uid === undefined ? { kind: 'invalid', issues } : { kind: 'valid', webhookUid: uid };
}

/** The webhook that a trigger selects; undefined when it is not a valid UID. */
export function webhookOf({ filter }: Trigger): string | undefined {
  const ids: unknown = isObject(filter) ? filter.webhook_ids : undefined;
  const [uid] = isArray(ids) ? ids : [];
  return typeof uid === 'string' && isUid(uid) ? uid : undefined;
}

function webhookIssues(ids: unknown): Issue[] {
  const pointer = '/filter/webhook_ids';
  if (!isArray(ids) || ids.length !== 1)
    return [{ pointer, detail: 'must be an array of exactly one webhook UID; use a trigger for each webhook' }];
  const [uid] = ids;
  return typeof uid === 'string' && isUid(uid)
    ? []
    : [{ pointer: `${pointer}/0`, detail: 'must be the UID of a webhook, 22 letters and digits, and not its name' }];
}

const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);
