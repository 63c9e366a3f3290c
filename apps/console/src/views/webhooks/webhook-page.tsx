import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, ApiProblem, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle, Badge } from '../../components/basics';
import { Copy, SecretOnce } from '../../components/copy';
import { DialogForm, Field, Form } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { currentTab, Tabs } from '../../components/tabs';
import { bytes } from '../../format';
import { navigate, query, setQuery } from '../../router';
import { type Delivery, DeliveryDetail, type Names, Outcome, reasonOf } from './delivery';
import { useFactories } from './factories';
import { curlOf, secretSource, stateOf, stepsOf, type Webhook } from './providers';
import { created } from './webhook-form';

const TABS = ['deliveries', 'set-up', 'settings'] as const;
const OUTCOMES = [
  'Accepted',
  'Duplicate',
  'Rejected (auth)',
  'Rejected (invalid JSON)',
  'Rejected (too large)',
] as const satisfies readonly Schemas['WebhookDeliveryOutcome'][];
const REFRESH_MS = 2000;
const PAGE = 20;

export function WebhookPage({ id }: { readonly id: string }) {
  const { factory, failure } = useFactories();
  if (factory === undefined) return failure === '' ? <p role="status">Loading …</p> : <Failure message={failure} />;
  return <Page key={`${factory.uid} ${id}`} factoryUid={factory.uid} uid={id} />;
}

function Page({ factoryUid, uid }: { readonly factoryUid: string; readonly uid: string }) {
  const path = { factoryUid, uid };
  const read = useResource(() => content(api.GET('/factories/{factoryUid}/webhooks/{uid}', { params: { path } })), uid);
  const automations = useResource(
    () =>
      content(
        api.GET('/factories/{factoryUid}/automations', { params: { path: { factoryUid }, query: { limit: 500 } } }),
      ),
    factoryUid,
  );
  const dialog = useSignal<'test' | 'secret' | null>(null);
  useEffect(
    () => () => {
      if (created.value?.webhook.uid === uid) created.value = null;
    },
    [uid],
  );
  const webhook = read.data;
  usePageTitle(webhook?.name ?? 'Webhook');
  if (webhook === undefined)
    return read.failure === '' ? (
      <p role="status">Loading …</p>
    ) : (
      <Empty title="Webhook not found" isPage>
        <p>{read.failure}</p>
        <Link to="webhooks">Show the webhooks</Link>
      </Empty>
    );
  const names: Names = new Map(automations.data?.automations.map(({ uid: known, name }) => [known, name]));
  const tab = currentTab(TABS);
  const own = created.value?.webhook.uid === uid ? created.value : null;
  const secret = own?.webhook.secret;
  const { look, label, reason } = stateOf(webhook);
  const deliveryId = query.value.get('delivery');
  const needsSecret = webhook.secret_missing === true || webhook.secret_pending === true;
  return (
    <>
      <div class="head">
        <h1 class="untrusted">{webhook.name}</h1>
        <Badge look={look}>{label}</Badge>
        <div class="actions">
          {webhook.enabled && !needsSecret && (
            <button
              type="button"
              class="primary"
              onClick={() => {
                dialog.value = 'test';
              }}
            >
              Send a test delivery
            </button>
          )}
          {!needsSecret && (
            <Action
              run={async () => {
                const body = { enabled: !webhook.enabled };
                await content(api.PATCH('/factories/{factoryUid}/webhooks/{uid}', { params: { path }, body }));
                await read.reload();
              }}
            >
              {webhook.enabled ? 'Disable' : 'Enable'}
            </Action>
          )}
          {webhook.source === 'api' && (
            <button
              type="button"
              class={needsSecret ? 'primary' : ''}
              onClick={() => {
                dialog.value = 'secret';
              }}
            >
              {needsSecret ? 'Set secret' : 'Rotate secret'}
            </button>
          )}
          <Action
            class="danger"
            confirm={`Delete the webhook ${webhook.name}? Senders get 404 at once, and its log is deleted.`}
            run={async () => {
              await content(api.DELETE('/factories/{factoryUid}/webhooks/{uid}', { params: { path } }));
              navigate(`webhooks?factory=${factoryUid}`);
            }}
          >
            Delete
          </Action>
        </div>
      </div>
      {reason !== undefined && <p class="muted">{reason}</p>}
      <Failure message={own?.failure ?? ''} />
      {secret !== undefined && <SecretOnce value={secret} />}
      <Tabs label="Parts of the webhook" tabs={TABS} path={`webhooks/${uid}?factory=${factoryUid}`} current={tab} />
      {tab === 'deliveries' &&
        (deliveryId === null ? (
          <Log key={query.value.get('outcome') ?? ''} factoryUid={factoryUid} webhook={webhook} />
        ) : (
          <DeliveryDetail
            key={deliveryId}
            factoryUid={factoryUid}
            webhook={webhook}
            deliveryId={deliveryId}
            names={names}
          />
        ))}
      {/* The address of the response with the secret may contain it. */}
      {tab === 'set-up' && <SetUp webhook={own?.webhook ?? webhook} />}
      {tab === 'settings' && <WebhookSettings factoryUid={factoryUid} webhook={webhook} onSaved={read.reload} />}
      {dialog.value === 'test' && (
        <SendTest
          factoryUid={factoryUid}
          uid={uid}
          onClose={() => {
            dialog.value = null;
          }}
        />
      )}
      {dialog.value === 'secret' && (
        <RotateSecret
          factoryUid={factoryUid}
          webhook={webhook}
          onClose={() => {
            dialog.value = null;
          }}
          onRotated={async (rotation) => {
            dialog.value = null;
            created.value = { webhook: rotation, failure: '' };
            await read.reload();
          }}
        />
      )}
    </>
  );
}

/** The first page is read again; pages that were loaded later stay below it. */
function Log({ factoryUid, webhook }: { readonly factoryUid: string; readonly webhook: Webhook }) {
  const rows = useSignal<readonly Delivery[] | undefined>(undefined);
  const cursor = useSignal<string | undefined>(undefined);
  const outcome = OUTCOMES.find((known) => known === query.value.get('outcome'));
  const path = { factoryUid, uid: webhook.uid };
  const page = (from: string | undefined) =>
    content(
      api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', {
        params: {
          path,
          query: {
            limit: PAGE,
            ...(outcome !== undefined && { outcome }),
            ...(from !== undefined && { cursor: from }),
          },
        },
      }),
    );
  const read = useResource(
    async () => {
      const first = await page(undefined);
      const oldest = first.deliveries.at(-1)?.delivery_id ?? '';
      const known = rows.value ?? [];
      // Without a common row there may be others between them.
      const isContinued = known.some(({ delivery_id: id }) => id === oldest);
      const rest = isContinued ? known.slice(known.findIndex(({ delivery_id: id }) => id === oldest) + 1) : [];
      rows.value = [...first.deliveries, ...rest];
      if (rest.length === 0) cursor.value = first.page_info.next_cursor;
    },
    webhook.uid,
    REFRESH_MS,
  );
  const more = async (): Promise<void> => {
    const next = await page(cursor.value);
    rows.value = [...(rows.value ?? []), ...next.deliveries];
    cursor.value = next.page_info.next_cursor;
  };
  return (
    <>
      <div class="tools">
        <div class="chips" role="group" aria-label="Outcomes">
          {OUTCOMES.map((known) => (
            <button
              type="button"
              class="chip"
              key={known}
              aria-pressed={known === outcome}
              onClick={() => setQuery({ outcome: known === outcome ? null : known })}
            >
              {known}
            </button>
          ))}
        </div>
      </div>
      <Failure message={read.failure} />
      {rows.value === undefined && read.failure === '' && <p role="status">Loading …</p>}
      {rows.value?.length === 0 &&
        (outcome === undefined ? (
          <Empty title="No delivery yet">
            <p>Deliveries appear here as they arrive. Send a test delivery to see one without a sender.</p>
          </Empty>
        ) : (
          <Empty title="No delivery has this outcome" />
        ))}
      {rows.value !== undefined && rows.value.length > 0 && (
        <Table label="Deliveries" columns={['Received', 'Outcome', 'Reason', 'Runs', 'Size']}>
          {rows.value.map((delivery) => (
            <tr key={delivery.delivery_id}>
              <td>
                <Link to={`webhooks/${webhook.uid}?factory=${factoryUid}&delivery=${delivery.delivery_id}`}>
                  <Time at={delivery.received_at} />
                </Link>
              </td>
              <td>
                <Outcome delivery={delivery} />
                {delivery.count !== undefined && <span class="muted"> ×{delivery.count}</span>}
                {delivery.test === true && <div class="muted">Test</div>}
                {delivery.redelivery_of !== undefined && <div class="muted">Redelivery</div>}
              </td>
              <td class="untrusted reason">{reasonOf(delivery)}</td>
              <td>
                {delivery.automation_results?.map(({ run_id: runId }) =>
                  runId === undefined ? null : (
                    <div key={runId}>
                      <Link to={`runs/${runId}`}>
                        Run <code>{runId.slice(-6)}</code>
                      </Link>
                    </div>
                  ),
                )}
              </td>
              <td>{bytes(delivery.size_bytes)}</td>
            </tr>
          ))}
        </Table>
      )}
      {cursor.value !== undefined && (
        <p class="empty">
          <Action run={more}>Show more</Action>
        </p>
      )}
    </>
  );
}

function SetUp({ webhook }: { readonly webhook: Webhook }) {
  const schemes = useResource(() => content(api.GET('/webhook-signature-schemes')), '');
  const scheme = schemes.data?.signature_schemes.find(({ id }) => id === webhook.signature_scheme);
  const curl = curlOf(webhook);
  return (
    <section class="history" aria-label="Set up the sender">
      <div class="card secret address">
        <span>Address</span>
        <code>{webhook.ingress_url}</code>
        <Copy text={webhook.ingress_url} label="Copy address" />
      </div>
      {webhook.captured_secret !== undefined && (
        <div class="card secret">
          <span>The handshake contained this secret. Compare it with the sender, then select Set secret.</span>
          <code class="untrusted">{webhook.captured_secret}</code>
        </div>
      )}
      <ol class="steps">
        {stepsOf(webhook).map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {curl !== null && (
        <>
          <pre tabIndex={0} aria-label="Example">
            {curl}
          </pre>
          <p>
            <Copy text={curl} label="Copy command" />
          </p>
        </>
      )}
      {webhook.enabled && (
        <p>No sender yet? Send a test delivery: it shows what a delivery looks like and which runs it starts.</p>
      )}
      {scheme !== undefined && (
        <p>
          <a href={scheme.documentation_url} target="_blank" rel="noopener noreferrer">
            Documentation of {scheme.label}
          </a>
        </p>
      )}
    </section>
  );
}

interface SettingsProps {
  readonly factoryUid: string;
  readonly webhook: Webhook;
  readonly onSaved: () => Promise<void>;
}

function WebhookSettings({ factoryUid, webhook, onSaved }: SettingsProps) {
  const isSaved = useSignal(false);
  const path = { factoryUid, uid: webhook.uid };
  const isDefined = webhook.source === 'definition';
  const save = async (data: FormData): Promise<void> => {
    isSaved.value = false;
    const name = textOf(data, 'name').trim();
    const header = textOf(data, 'header').trim();
    const body = { ...(!isDefined && { name }), delivery_id_header: header === '' ? null : header };
    await content(api.PATCH('/factories/{factoryUid}/webhooks/{uid}', { params: { path }, body }));
    isSaved.value = true;
    await onSaved();
  };
  return (
    <Form class="form narrow" submit="Save" send={save} actions={isSaved.value && <span role="status">Saved.</span>}>
      {isDefined && <p>The definition files of the factory have this webhook. Their next apply reverts changes.</p>}
      <Field label="Name" pointer="/name">
        {(control) => (
          <input {...control} name="name" required maxLength={200} disabled={isDefined} defaultValue={webhook.name} />
        )}
      </Field>
      <Field
        label="Header with the delivery id"
        hint="Empty: the usual one of the sender."
        pointer="/delivery_id_header"
      >
        {(control) => (
          <input {...control} name="header" maxLength={128} defaultValue={webhook.delivery_id_header ?? ''} />
        )}
      </Field>
      <p class="muted">
        Managed secret: <code>{webhook.secret_name}</code>
      </p>
    </Form>
  );
}

const SAMPLE = JSON.stringify({ event: 'test', message: 'This is a test delivery of Headrace.' }, null, 2);

interface SendTestProps {
  readonly factoryUid: string;
  readonly uid: string;
  readonly onClose: () => void;
}

function SendTest({ factoryUid, uid, onClose }: SendTestProps) {
  const send = async (data: FormData): Promise<void> => {
    const { delivery_id: id } = await content(
      api.POST('/factories/{factoryUid}/webhooks/{uid}/test', {
        params: { path: { factoryUid, uid } },
        body: { payload: payloadOf(textOf(data, 'payload')) },
      }),
    );
    setQuery({ tab: null, outcome: null, delivery: id });
  };
  return (
    <DialogForm title="Send a test delivery" submit="Send" send={send} onClose={onClose}>
      <p>
        Headrace stores it as an accepted delivery: automations that match start runs. The address and the secret of the
        sender are not tested.
      </p>
      <Field label="Body" pointer="/payload" hint="Any JSON value.">
        {(control) => <textarea {...control} name="payload" class="code" rows={8} defaultValue={SAMPLE} />}
      </Field>
    </DialogForm>
  );
}

function payloadOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    const detail = `The body is not JSON: ${String(error)}`;
    throw new ApiProblem(0, detail, [{ pointer: '/payload', detail }]);
  }
}

interface RotateProps {
  readonly factoryUid: string;
  readonly webhook: Webhook;
  readonly onClose: () => void;
  readonly onRotated: (webhook: Webhook) => Promise<void>;
}

function RotateSecret({ factoryUid, webhook, onClose, onRotated }: RotateProps) {
  const isSigned = webhook.auth_mode === 'signature';
  const source = isSigned ? secretSource(webhook.signature_scheme ?? '') : 'generated';
  const isOptional = source === 'generated' || webhook.secret_pending === true;
  const rotate = async (data: FormData): Promise<void> => {
    const secret = textOf(data, 'secret');
    const params = { path: { factoryUid, uid: webhook.uid } };
    const body = secret === '' ? {} : { secret };
    await onRotated(await content(api.POST('/factories/{factoryUid}/webhooks/{uid}/rotate-secret', { params, body })));
  };
  return (
    <DialogForm
      title={webhook.secret_missing === true ? 'Set the secret' : 'Rotate the secret'}
      submit={webhook.secret_missing === true ? 'Set secret' : 'Rotate secret'}
      send={rotate}
      onClose={onClose}
    >
      <p>The previous secret becomes invalid at once. The new one is shown once.</p>
      {isSigned && (
        <Field
          label="Secret of the sender"
          hint={
            webhook.secret_pending === true
              ? 'Empty: the secret of the handshake is confirmed.'
              : isOptional
                ? 'Empty: Headrace generates it.'
                : 'As the sender displays it.'
          }
          pointer="/secret"
        >
          {(control) => <input {...control} name="secret" autocomplete="off" required={!isOptional} />}
        </Field>
      )}
    </DialogForm>
  );
}
