import {
  type AutomationSpec,
  type Diagnostic,
  type FactoryDefinition,
  sortedDiagnostics,
  type SourcePlaces,
} from './definition.js';
import { resourcePath } from './files/layout.js';

/** Webhooks that triggers call by their names. `uidsByName`: of the factory's webhooks as they are now. */
export function checkWebhookIds(
  { automations, webhooks }: FactoryDefinition,
  places: SourcePlaces,
  uidsByName: ReadonlyMap<string, string>,
): Diagnostic[] {
  const found = [...automations.values()].flatMap((automation) =>
    webhookIdsOf(automation.triggers).flatMap(({ id, pointer }) => {
      const name = nameOf(id);
      const uid = uidsByName.get(name);
      if ((uid === undefined && !webhooks.has(name)) || [...uidsByName.values()].includes(id)) return [];
      const path = resourcePath('automation', automation.name);
      return [{ code: 'webhook_name_instead_of_uid', path, ...places.at(path, pointer), message: say(name, uid) }];
    }),
  );
  return sortedDiagnostics(found);
}

const say = (name: string, uid: string | undefined): string =>
  uid === undefined
    ? `webhook_ids holds UIDs, not names. The webhook ${name} gets its UID when it is applied: apply the webhooks without this automation first.`
    : `webhook_ids holds UIDs, not names: the UID of the webhook ${name} is ${uid}.`;

/** The name that somebody means who writes a name, or the path of a file. */
const nameOf = (id: string): string => id.replace(/^webhooks\//, '').replace(/\.yaml$/, '');

export function webhookIdsOf(
  triggers: AutomationSpec['triggers'],
): { readonly id: string; readonly pointer: string }[] {
  return triggers.flatMap(({ filter }, index) => {
    const ids: unknown =
      typeof filter === 'object' && filter !== null && 'webhook_ids' in filter ? filter.webhook_ids : [];
    const list: readonly unknown[] = Array.isArray(ids) ? ids : [ids];
    const pointer = `/triggers/${index}/filter/webhook_ids`;
    return list.flatMap((id, place) => (typeof id === 'string' ? [{ id, pointer: `${pointer}/${place}` }] : []));
  });
}
