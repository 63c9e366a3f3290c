import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, Badge, type Look } from '../../components/basics';
import { SecretOnce } from '../../components/copy';
import { DialogForm, Field, FieldGroup } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { duration } from '../../format';
import { query, setQuery } from '../../router';
import { may, team } from '../../session';

type Webhook = Schemas['NotificationWebhookItem'];
type Event = Schemas['NotificationEvent'];
type Format = Schemas['NotificationFormat'];

const EVENTS: readonly (readonly [Event, string, boolean])[] = [
  ['run.succeeded', 'Succeeded', true],
  ['run.failed', 'Failed: the agent or its set-up failed', true],
  ['run.errored', 'Error: the platform failed', true],
  ['run.cancelled', 'Cancelled', true],
  ['run.blocked', 'Blocked: it waits for a decision', true],
  ['run.state_changed', 'All of these, and those of later versions', false],
];
const FORMATS: Readonly<Record<Format, string>> = {
  json: 'JSON, for programs',
  slack: 'Slack',
  discord: 'Discord',
  teams: 'Microsoft Teams',
};
const REFRESH_MS = 5000;

export function Notifications() {
  const list = useResource(() => content(api.GET('/notification-webhooks')), team.value ?? '', REFRESH_MS);
  const secret = useSignal<string | null>(null);
  const webhooks = list.data?.notification_webhooks;
  const isManager = may('notifications:manage');
  const edited = webhooks?.find(({ uid }) => uid === query.value.get('edit'));
  const shown = webhooks?.find(({ uid }) => uid === query.value.get('log'));
  const close = (): void => setQuery({ edit: null });
  return (
    <>
      <div class="tools">
        <p class="muted grow">Headrace posts a message to these addresses when runs of the team end or wait.</p>
        {isManager && (
          <button type="button" class="primary" onClick={() => setQuery({ edit: 'new' })}>
            New notification webhook
          </button>
        )}
      </div>
      <Failure message={list.failure} />
      {secret.value !== null && <SecretOnce value={secret.value} noun="signing secret" />}
      {webhooks?.length === 0 && (
        <Empty title="No notification webhook yet">
          <p>
            A notification webhook sends a message to another system when a run has ended or waits for a decision. Enter
            an https address that accepts posts.
          </p>
        </Empty>
      )}
      {webhooks !== undefined && webhooks.length > 0 && (
        <Table label="Notification webhooks" columns={['Name', 'State', 'Address', 'Events', '']}>
          {webhooks.map((webhook) => (
            <Row
              key={webhook.uid}
              webhook={webhook}
              reload={list.reload}
              onSecret={(value) => (secret.value = value)}
            />
          ))}
        </Table>
      )}
      {shown !== undefined && <Log key={shown.uid} webhook={shown} />}
      {isManager && (edited !== undefined || query.value.get('edit') === 'new') && (
        <Edit
          webhook={edited}
          onClose={close}
          onSaved={async (saved) => {
            close();
            // A saved one has `***`. Chat services check no signature.
            if (edited === undefined && saved.format === 'json') secret.value = saved.secret;
            await list.reload();
          }}
        />
      )}
    </>
  );
}

interface RowProps {
  readonly webhook: Webhook;
  readonly reload: () => Promise<void>;
  readonly onSecret: (secret: string) => void;
}

function Row({ webhook, reload, onSecret }: RowProps) {
  const { uid, name, url, format, events, enabled, decisions, disabled_reason: reason } = webhook;
  const params = { path: { uid } };
  const isLogged = query.value.get('log') === uid;
  return (
    <tr>
      <td class="untrusted">
        <strong>{name}</strong>
      </td>
      <td>
        <Badge look={enabled ? 'good' : reason === undefined ? 'off' : 'bad'}>{enabled ? 'Enabled' : 'Disabled'}</Badge>
        {!enabled && reason !== undefined && <div class="muted untrusted">{reason}</div>}
      </td>
      <td class="untrusted">
        {url}
        <div class="muted">
          {FORMATS[format]}
          {decisions && ', with buttons that decide'}
        </div>
      </td>
      <td>
        {events.map((event) => (
          <div key={event}>
            <code>{event}</code>
          </div>
        ))}
      </td>
      <td>
        <div class="actions">
          <button type="button" aria-expanded={isLogged} onClick={() => setQuery({ log: isLogged ? null : uid })}>
            Messages
          </button>
          {may('notifications:manage') && (
            <>
              <Action
                run={async () => {
                  await content(api.POST('/notification-webhooks/{uid}/test', { params }));
                  setQuery({ log: uid });
                }}
              >
                Send a test message
              </Action>
              <button type="button" onClick={() => setQuery({ edit: uid })}>
                Edit
              </button>
              <Action
                run={async () => {
                  await content(api.PUT('/notification-webhooks/{uid}', { params, body: { enabled: !enabled } }));
                  await reload();
                }}
              >
                {enabled ? 'Disable' : 'Enable'}
              </Action>
              <Action
                confirm={`Generate a new signing secret for ${name}? Messages have both signatures for 24 hours.`}
                run={async () => {
                  onSecret((await content(api.POST('/notification-webhooks/{uid}/rotate-secret', { params }))).secret);
                }}
              >
                Rotate secret
              </Action>
              <Action
                class="danger"
                confirm={`Delete the notification webhook ${name}? Pending messages are not sent.`}
                run={async () => {
                  // The list of its messages would be read once more after the deletion.
                  if (isLogged) setQuery({ log: null });
                  await content(api.DELETE('/notification-webhooks/{uid}', { params }));
                  await reload();
                }}
              >
                Delete
              </Action>
            </>
          )}
        </div>
      </td>
    </tr>
  );
}

const LOOK: Readonly<Record<string, Look>> = { delivered: 'good', failed: 'bad', pending: 'wait' };

function Log({ webhook: { uid, name } }: { readonly webhook: Webhook }) {
  const list = useResource(
    () => content(api.GET('/notification-webhooks/{uid}/deliveries', { params: { path: { uid } } })),
    uid,
    REFRESH_MS,
  );
  const deliveries = list.data?.deliveries;
  return (
    <section>
      <h2 class="section untrusted">Messages to {name}</h2>
      <Failure message={list.failure} />
      {deliveries?.length === 0 && <p class="muted">No message was sent yet.</p>}
      {deliveries !== undefined && deliveries.length > 0 && (
        <Table label="Messages" columns={['Created', 'Event', 'State', 'Run', 'Last attempt']}>
          {deliveries.map((delivery) => {
            const last = delivery.attempts.at(-1);
            return (
              <tr key={delivery.delivery_id}>
                <td>
                  <Time at={delivery.created_at} />
                </td>
                <td>
                  <code>{delivery.type}</code>
                </td>
                <td>
                  <Badge look={LOOK[delivery.status] ?? 'off'}>{delivery.status}</Badge>
                  {delivery.next_attempt_at !== undefined && (
                    <div class="muted">
                      next attempt <Time at={delivery.next_attempt_at} />
                    </div>
                  )}
                </td>
                <td>
                  {delivery.run_id !== undefined && (
                    <Link to={`runs/${delivery.run_id}`}>
                      Run <code>{delivery.run_id.slice(-6)}</code>
                    </Link>
                  )}
                </td>
                <td class="untrusted reason">
                  {last === undefined
                    ? 'None yet'
                    : `Attempt ${delivery.attempt_count}: ${last.error ?? `status ${last.response_status ?? 'unknown'}`}, ${duration(last.duration_ms)}`}
                  {last?.response_body !== undefined && last.response_body !== '' && <pre>{last.response_body}</pre>}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}

interface EditProps {
  /** Undefined: a new one. */
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
  readonly onSaved: (webhook: Webhook) => Promise<void>;
}

function Edit({ webhook, onClose, onSaved }: EditProps) {
  const save = async (data: FormData): Promise<void> => {
    const format = textOf(data, 'format') as Format | '';
    const body = {
      name: textOf(data, 'name').trim(),
      url: textOf(data, 'url').trim(),
      ...(format !== '' && { format }),
      events: EVENTS.map(([event]) => event).filter((event) => data.get(event) !== null),
      decisions: data.get('decisions') !== null,
    };
    await onSaved(
      await content(
        webhook === undefined
          ? api.POST('/notification-webhooks', { body })
          : api.PUT('/notification-webhooks/{uid}', { params: { path: { uid: webhook.uid } }, body }),
      ),
    );
  };
  return (
    <DialogForm
      title={webhook === undefined ? 'New notification webhook' : 'Edit the notification webhook'}
      submit={webhook === undefined ? 'Create notification webhook' : 'Save'}
      send={save}
      onClose={onClose}
    >
      <Field label="Name" pointer="/name">
        {(control) => <input {...control} name="name" required maxLength={200} defaultValue={webhook?.name ?? ''} />}
      </Field>
      <Field
        label="Address"
        hint="An https address with a public host, also one of an incoming webhook of Slack, Discord or Microsoft Teams."
        pointer="/url"
      >
        {(control) => (
          <input
            {...control}
            name="url"
            type="url"
            required
            maxLength={2048}
            placeholder="https://hooks.example.com/headrace"
            defaultValue={webhook?.url ?? ''}
          />
        )}
      </Field>
      <Field label="Format" hint="JSON is signed according to Standard Webhooks." pointer="/format">
        {(control) => (
          <select {...control} name="format">
            {webhook === undefined && <option value="">By the address</option>}
            {Object.entries(FORMATS).map(([value, label]) => (
              <option value={value} key={value} selected={value === webhook?.format}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <FieldGroup label="Runs that are reported" pointer="/events">
        {EVENTS.map(([event, label, isDefault]) => (
          <label class="check" key={event}>
            <input
              type="checkbox"
              name={event}
              defaultChecked={webhook === undefined ? isDefault : webhook.events.includes(event)}
            />
            {label}
          </label>
        ))}
      </FieldGroup>
      <FieldGroup label="Buttons in Slack, Discord and Microsoft Teams" pointer="/decisions">
        <label class="check">
          <input type="checkbox" name="decisions" defaultChecked={webhook?.decisions ?? false} />
          Messages have buttons that decide. Everybody who can read them can decide, without signing in.
        </label>
      </FieldGroup>
    </DialogForm>
  );
}
