import { api, content, messageOf, type Schemas } from '../../api/client';
import { Failure } from '../../components/basics';
import { Field } from '../../components/form';
import { useResource } from '../../components/resource';
import type { Webhook } from '../webhooks/providers';
import { type Clause, type Filter, type Json, toClauses, toFilter } from './filter';
import { FilterBuilder } from './filter-builder';
import { TriggerTest } from './trigger-test';

type Trigger = Schemas['CreateAutomationRequest']['triggers'][number];

export interface EditedTrigger {
  readonly id: number;
  readonly kind: 'webhook' | 'schedule' | 'other';
  /** Empty: the first webhook. */
  readonly webhookUid: string;
  /** Null: the filter is edited as JSON. */
  readonly clauses: readonly Clause[] | null;
  readonly json: string;
  /** The whole trigger, of another kind. */
  readonly other: string;
  readonly cron: string;
  readonly timezone: string;
  /** The trigger that was read, with fields that this form does not have. */
  readonly original: Trigger | undefined;
}

const EVENT_EXAMPLE = { provider: 'github', event: 'issue_labeled', filter: { labels: ['agent'] } };

let lastId = 0;
export function newTrigger(webhookUid: string): EditedTrigger {
  lastId += 1;
  return {
    ...{ id: lastId, kind: 'webhook', webhookUid, clauses: [], json: '{}' },
    ...{ cron: '0 9 * * 1-5', timezone: 'UTC', other: formatted(EVENT_EXAMPLE), original: undefined },
  };
}

const formatted = (value: object): string => JSON.stringify(value, null, 2);

interface KnownFields {
  readonly filter?: { readonly webhook_ids?: readonly string[]; readonly payload?: Filter };
  readonly schedule?: { readonly cron?: string; readonly timezone?: string; readonly name?: string };
}

export function editedOf(trigger: Trigger): EditedTrigger {
  const { filter = {}, schedule = {} } = trigger as KnownFields;
  const empty = newTrigger(filter.webhook_ids?.[0] ?? '');
  if (trigger.provider === 'webhook') {
    const payload = filter.payload ?? {};
    return { ...empty, clauses: toClauses(payload), json: formatted(payload), original: trigger };
  }
  if (trigger.provider === 'schedule')
    return {
      ...empty,
      kind: 'schedule',
      cron: schedule.cron ?? '',
      timezone: schedule.timezone ?? 'UTC',
      original: trigger,
    };
  const { obstacle: _obstacle, ...fields } = trigger;
  return { ...empty, kind: 'other', other: formatted(fields), original: trigger };
}

/** Throws an error with a sentence for the user. */
export function triggerOf(edited: EditedTrigger, firstWebhook: string | undefined): Trigger {
  if (edited.kind === 'other') return parsed('trigger', edited.other) as Trigger;
  if (edited.kind === 'schedule') {
    const { schedule } = (edited.original ?? {}) as KnownFields;
    const fields = { ...schedule, cron: edited.cron.trim(), timezone: edited.timezone.trim() };
    return { provider: 'schedule', event: 'cron_fired', schedule: fields };
  }
  const uid = edited.webhookUid === '' ? firstWebhook : edited.webhookUid;
  if (uid === undefined) throw new Error('Create a webhook first, under Webhooks.');
  const payload = edited.clauses === null ? parsed('filter', edited.json) : toFilter(edited.clauses);
  const isAll = typeof payload === 'object' && payload !== null && Object.keys(payload).length === 0;
  return {
    provider: 'webhook',
    event: 'received',
    filter: { webhook_ids: [uid], ...(!isAll && { payload }) },
  };
}

function parsed(what: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`The ${what} is not JSON: ${messageOf(error)}`, { cause: error });
  }
}

interface EditorProps {
  readonly label: string;
  readonly factoryUid: string;
  readonly trigger: EditedTrigger;
  readonly webhooks: readonly Webhook[];
  readonly suggestions: string;
  /** The number of deliveries with which the filter is tested. */
  readonly recent: number;
  readonly onChange: (trigger: EditedTrigger) => void;
  readonly onRemove?: () => void;
}

export function TriggerEditor({
  label,
  factoryUid,
  trigger,
  webhooks,
  suggestions,
  recent,
  onChange,
  onRemove,
}: EditorProps) {
  const uid = trigger.webhookUid === '' ? (webhooks[0]?.uid ?? '') : trigger.webhookUid;
  const deliveries = useResource(async () => {
    if (trigger.kind !== 'webhook' || uid === '') return [];
    const params = { path: { factoryUid, uid }, query: { limit: recent, outcome: 'Accepted' as const } };
    return (await content(api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', { params }))).deliveries;
  }, `${trigger.kind} ${uid}`);
  let failure = '';
  let current: Trigger | undefined;
  try {
    current = triggerOf(trigger, webhooks[0]?.uid);
  } catch (error) {
    failure = messageOf(error);
  }
  const isConvertible =
    trigger.clauses !== null || (failure === '' && toClauses(parsed('filter', trigger.json)) !== null);
  return (
    <section class="card trigger" aria-label={label}>
      <div class="pair">
        <Field label={label}>
          {(control) => (
            <select
              {...control}
              value={trigger.kind}
              onChange={({ currentTarget }) =>
                onChange({ ...trigger, kind: currentTarget.value as EditedTrigger['kind'] })
              }
            >
              <option value="webhook">A delivery of a webhook</option>
              <option value="schedule">The times of a schedule</option>
              <option value="other">Another event, as JSON</option>
            </select>
          )}
        </Field>
        {trigger.kind === 'webhook' && (
          <Field label="Webhook">
            {(control) => (
              <select
                {...control}
                value={uid}
                onChange={({ currentTarget }) => onChange({ ...trigger, webhookUid: currentTarget.value })}
              >
                {!webhooks.some((webhook) => webhook.uid === uid) && uid !== '' && (
                  <option value={uid}>Deleted webhook</option>
                )}
                {webhooks.map((webhook) => (
                  <option value={webhook.uid} key={webhook.uid}>
                    {webhook.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {trigger.kind === 'schedule' && (
          <>
            <Field label="Cron expression" hint="Minute, hour, day, month, day of the week.">
              {(control) => (
                <input
                  {...control}
                  required
                  value={trigger.cron}
                  onInput={({ currentTarget }) => onChange({ ...trigger, cron: currentTarget.value })}
                />
              )}
            </Field>
            <Field label="Time zone">
              {(control) => (
                <input
                  {...control}
                  required
                  value={trigger.timezone}
                  onInput={({ currentTarget }) => onChange({ ...trigger, timezone: currentTarget.value })}
                />
              )}
            </Field>
          </>
        )}
      </div>
      {trigger.original?.obstacle !== undefined && editedOf(trigger.original).webhookUid === trigger.webhookUid && (
        <Failure message={trigger.original.obstacle.detail} />
      )}
      {trigger.kind === 'other' && (
        <Field
          label="Trigger"
          hint="An event of GitHub or GitLab, for example. The documentation of automations lists the events and their filters."
          error={failure}
        >
          {(control) => (
            <textarea
              {...control}
              class="code"
              rows={10}
              value={trigger.other}
              onInput={({ currentTarget }) => onChange({ ...trigger, other: currentTarget.value })}
            />
          )}
        </Field>
      )}
      {trigger.kind === 'webhook' && (
        <>
          {trigger.clauses === null ? (
            <Field
              label="Filter"
              hint={'The structure of the body, with lists of allowed values: {"action": ["opened"]}.'}
              error={failure}
            >
              {(control) => (
                <textarea
                  {...control}
                  class="code"
                  rows={8}
                  value={trigger.json}
                  onInput={({ currentTarget }) => onChange({ ...trigger, json: currentTarget.value })}
                />
              )}
            </Field>
          ) : (
            <FilterBuilder
              label="Only deliveries that match all of"
              clauses={trigger.clauses}
              suggestions={suggestions}
              onChange={(clauses) => onChange({ ...trigger, clauses })}
            />
          )}
          <div class="actions">
            <button
              type="button"
              disabled={failure !== '' || !isConvertible}
              onClick={() =>
                onChange(
                  trigger.clauses === null
                    ? { ...trigger, clauses: toClauses(parsed('filter', trigger.json)) }
                    : { ...trigger, clauses: null, json: formatted(toFilter(trigger.clauses)) },
                )
              }
            >
              {trigger.clauses === null ? 'Edit as conditions' : 'Edit as JSON'}
            </button>
            <button type="button" onClick={() => void deliveries.reload()}>
              Read the deliveries again
            </button>
          </div>
          {failure === '' && !isConvertible && <p class="muted">This filter has a form that conditions cannot show.</p>}
          {trigger.clauses !== null && failure !== '' && <p class="failure">{failure}</p>}
          <Failure message={deliveries.failure} />
          {uid !== '' && deliveries.data !== undefined && (
            <TriggerTest factoryUid={factoryUid} webhookUid={uid} trigger={current} deliveries={deliveries.data} />
          )}
        </>
      )}
      {onRemove !== undefined && (
        <div>
          <button type="button" class="danger" onClick={onRemove}>
            Remove this event
          </button>
        </div>
      )}
    </section>
  );
}
