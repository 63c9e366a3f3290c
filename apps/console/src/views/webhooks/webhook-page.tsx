import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content } from '../../api/client';
import { Action, Badge, Empty, Failure, Link, usePageTitle } from '../../components/basics';
import { Copy, SecretOnce } from '../../components/copy';
import { Field, Form } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { currentTab, Tabs } from '../../components/tabs';
import { navigate, query } from '../../router';
import { DeliveryDetail, type Names } from './delivery';
import { DeliveryLog } from './delivery-log';
import { useFactories } from './factories';
import { curlOf, stateOf, stepsOf, type Webhook } from './providers';
import { RotateSecret, SendTest } from './webhook-dialogs';
import { created } from './webhook-form';

const TABS = ['deliveries', 'set-up', 'settings'] as const;
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
          <DeliveryLog key={query.value.get('outcome') ?? ''} factoryUid={factoryUid} webhook={webhook} />
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
