import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle, Badge } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { currentTab, Tabs } from '../../components/tabs';
import { query, setQuery } from '../../router';
import { may } from '../../session';
import { Outcome } from './delivery';
import { FactorySelect, type Factory, useFactories } from './factories';
import { Notifications } from './notifications';
import { stateOf, type Webhook } from './providers';
import { WebhookForm } from './webhook-form';

const REFRESH_MS = 15_000;
const TABS = ['incoming', 'notifications'] as const;

export function WebhooksPage() {
  usePageTitle('Webhooks');
  const tab = currentTab(TABS);
  const { factories, factory, failure } = useFactories();
  const isManager = may('factories:manage');
  const hasWebhook = useSignal(false);
  return (
    <>
      <div class="head">
        <h1>Webhooks</h1>
        {factories !== undefined && factory !== undefined && <FactorySelect factories={factories} factory={factory} />}
        {/* Without a webhook the page has the form. */}
        {tab === 'incoming' && hasWebhook.value && (
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            New webhook
          </button>
        )}
      </div>
      <Tabs label="Kinds of webhooks" tabs={TABS} path="webhooks" current={tab} />
      <Failure message={failure} />
      {tab === 'notifications' && <Notifications />}
      {tab === 'incoming' && !isManager && (
        <Empty title="Only admins and owners manage webhooks">
          <p>A webhook is an address to which other systems post events, which start runs.</p>
        </Empty>
      )}
      {tab === 'incoming' && isManager && factory !== undefined && (
        <List key={factory.uid} factory={factory} hasWebhook={hasWebhook} />
      )}
      {tab === 'incoming' && isManager && factories?.length === 0 && (
        <Empty title="No factory yet">
          <p>Webhooks and automations belong to a factory of the team. An administrator creates the first one.</p>
        </Empty>
      )}
    </>
  );
}

function List({ factory, hasWebhook }: { readonly factory: Factory; readonly hasWebhook: Signal<boolean> }) {
  const path = { factoryUid: factory.uid };
  const list = useResource(
    () => content(api.GET('/factories/{factoryUid}/webhooks', { params: { path } })),
    factory.uid,
    REFRESH_MS,
  );
  const webhooks = list.data?.webhooks;
  useEffect(() => {
    hasWebhook.value = webhooks !== undefined && webhooks.length > 0;
  }, [webhooks]);
  return (
    <>
      <Failure message={list.failure} />
      {webhooks === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {webhooks?.length === 0 && (
        <section class="card teach">
          <h2>Let other systems start runs</h2>
          <p>
            A webhook is an address to which a system such as GitHub posts its events. Automations start a run for each
            event that matches. The form is ready: create the webhook, then send a test delivery to see both.
          </p>
          <WebhookForm factory={factory} />
        </section>
      )}
      {webhooks !== undefined && webhooks.length > 0 && (
        <Table label="Webhooks" columns={['Name', 'State', 'Sender', 'Last delivery', '']}>
          {webhooks.map((webhook) => (
            <Row key={webhook.uid} factory={factory} webhook={webhook} reload={list.reload} />
          ))}
        </Table>
      )}
      {query.value.get('new') !== null && webhooks !== undefined && webhooks.length > 0 && (
        <WebhookForm factory={factory} onClose={() => setQuery({ new: null })} />
      )}
    </>
  );
}

interface RowProps {
  readonly factory: Factory;
  readonly webhook: Webhook;
  readonly reload: () => Promise<void>;
}

function Row({ factory, webhook, reload }: RowProps) {
  const path = { factoryUid: factory.uid, uid: webhook.uid };
  const last = useResource(
    () =>
      content(api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', { params: { path, query: { limit: 1 } } })),
    webhook.uid,
    REFRESH_MS,
  );
  const delivery = last.data?.deliveries[0];
  const { look, label, reason } = stateOf(webhook);
  return (
    <tr>
      <td class="untrusted">
        <Link to={`webhooks/${webhook.uid}?factory=${factory.uid}`}>
          <strong>{webhook.name}</strong>
        </Link>
        {webhook.source === 'definition' && <div class="muted">from definition files</div>}
      </td>
      <td>
        <Badge look={look}>{label}</Badge>
        {reason !== undefined && <div class="muted">{reason}</div>}
      </td>
      <td>
        <code>{webhook.signature_scheme ?? webhook.auth_mode}</code>
      </td>
      <td>
        {delivery === undefined ? (
          <span class="muted">{last.failure === '' ? 'None' : last.failure}</span>
        ) : (
          <>
            <Outcome delivery={delivery} /> <Time at={delivery.received_at} />
          </>
        )}
      </td>
      <td>
        <div class="actions">
          {webhook.secret_missing !== true && webhook.secret_pending !== true && (
            <Action
              run={async () => {
                const body = { enabled: !webhook.enabled };
                await content(api.PATCH('/factories/{factoryUid}/webhooks/{uid}', { params: { path }, body }));
                await reload();
              }}
            >
              {webhook.enabled ? 'Disable' : 'Enable'}
            </Action>
          )}
          <Action
            class="danger"
            confirm={`Delete the webhook ${webhook.name}? Senders get 404 at once, and its log is deleted.`}
            run={async () => {
              await content(api.DELETE('/factories/{factoryUid}/webhooks/{uid}', { params: { path } }));
              await reload();
            }}
          >
            Delete
          </Action>
        </div>
      </td>
    </tr>
  );
}
