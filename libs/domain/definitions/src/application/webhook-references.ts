import type { Trigger } from '#domain/automations';
import { checkWebhookIds } from '../domain/check-webhook-ids.js';
import type { Diagnostic } from '../domain/definition.js';
import { type Applying, diagnosticAt, sentence } from './applying.js';

/** Webhooks that triggers call by their names, and those that are selected though their files are gone. */
export const webhookReferenceFaults = (applying: Applying): Diagnostic[] => [
  ...calledByName(applying),
  ...deletedWebhooks(applying),
];

/** Of webhooks of one name, it is the one that files define. */
function calledByName({ definition, places, present }: Applying): Diagnostic[] {
  const of = (source: string): [string, string][] =>
    present.webhooks.filter((webhook) => webhook.source === source).map(({ name, uid }) => [name, uid]);
  return checkWebhookIds(definition, places, new Map([...of('api'), ...of('definition')]));
}

/** Whose file is gone, while automations still select them. */
function deletedWebhooks(applying: Applying): Diagnostic[] {
  const { plan, desired } = applying;
  const deleted = new Map(
    plan.flatMap(({ kind, action, uid, name }) =>
      kind === 'webhook' && action === 'delete' && uid !== null ? [[uid, name]] : [],
    ),
  );
  return [...desired.automations].flatMap(([name, { fields }]) =>
    fields.triggers.flatMap((trigger, index) => {
      const uid = webhookUidOf(trigger);
      const webhook = deleted.get(uid ?? '');
      if (webhook === undefined) return [];
      const pointer = `/triggers/${index}/filter/webhook_ids/0`;
      const message = sentence(pointer, `is the webhook ${webhook}, which has no file any more and would be deleted`);
      return [diagnosticAt(applying, { kind: 'automation', name, pointer }, 'unknown_webhook', message)];
    }),
  );
}

function webhookUidOf({ filter }: Trigger): string | undefined {
  if (typeof filter !== 'object' || filter === null || !('webhook_ids' in filter)) return undefined;
  const ids: readonly unknown[] = Array.isArray(filter.webhook_ids) ? filter.webhook_ids : [];
  const [uid] = ids;
  return typeof uid === 'string' ? uid : undefined;
}
