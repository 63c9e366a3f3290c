import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle, Badge } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { currentTab, Tabs } from '../../components/tabs';
import { navigate } from '../../router';
import { may } from '../../session';
import { FactorySelect, type Factory, useFactories } from '../webhooks/factories';
import { Definition } from './definition';

export type Automation = Schemas['AutomationItem'];

const REFRESH_MS = 15_000;
const TABS = ['automations', 'definition-files'] as const;

export function AutomationsPage() {
  usePageTitle('Automations');
  const tab = currentTab(TABS);
  const { factories, factory, failure } = useFactories();
  const isManager = may('factories:manage');
  return (
    <>
      <div class="head">
        <h1>Automations</h1>
        {factories !== undefined && factory !== undefined && <FactorySelect factories={factories} factory={factory} />}
        {isManager && factory !== undefined && tab === 'automations' && (
          <button type="button" class="primary" onClick={() => navigate(`automations/new?factory=${factory.uid}`)}>
            New automation
          </button>
        )}
      </div>
      <Failure message={failure} />
      {!isManager && (
        <Empty title="Only admins and owners manage automations">
          <p>An automation starts a run when an event arrives that matches its filter.</p>
        </Empty>
      )}
      {isManager && (
        <>
          <Tabs label="Parts of the factory" tabs={TABS} path="automations" current={tab} />
          {factory !== undefined && tab === 'automations' && <List key={factory.uid} factory={factory} />}
          {factory !== undefined && tab === 'definition-files' && <Definition key={factory.uid} factory={factory} />}
          {factories?.length === 0 && <Empty title="No factory yet" />}
        </>
      )}
    </>
  );
}

/** A replacement with the fields of the automation that a request has. */
export function requestOf({
  name,
  enabled,
  prompt,
  triggers,
  ...rest
}: Automation): Schemas['ReplaceAutomationRequest'] {
  const { agent_config: config, agent_identity_uid: identity, concurrency } = rest;
  return {
    name,
    enabled,
    prompt,
    triggers,
    ...(config !== undefined && { agent_config: config }),
    ...(identity !== undefined && { agent_identity_uid: identity }),
    ...(concurrency !== undefined && { concurrency }),
  };
}

function List({ factory }: { readonly factory: Factory }) {
  const path = { factoryUid: factory.uid };
  const list = useResource(
    () => content(api.GET('/factories/{factoryUid}/automations', { params: { path, query: { limit: 500 } } })),
    factory.uid,
    REFRESH_MS,
  );
  const webhooks = useResource(
    () => content(api.GET('/factories/{factoryUid}/webhooks', { params: { path } })),
    factory.uid,
  );
  const names = new Map(webhooks.data?.webhooks.map(({ uid, name }) => [uid, name]));
  const automations = list.data?.automations;
  return (
    <>
      <Failure message={list.failure || webhooks.failure} />
      {automations === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {automations?.length === 0 && (
        <Empty title="No automations yet">
          <p>
            An automation starts a run when an event arrives that matches its filter. It needs a webhook, to which
            another system posts its events, or the times of a schedule.
          </p>
          <button
            type="button"
            class="primary"
            onClick={() => navigate(names.size === 0 ? 'webhooks' : `automations/new?factory=${factory.uid}`)}
          >
            {names.size === 0 ? 'Create a webhook first' : 'Create the first automation'}
          </button>
        </Empty>
      )}
      {automations !== undefined && automations.length > 0 && (
        <Table label="Automations" columns={['Name', 'State', 'Triggers', 'Changed', '']}>
          {automations.map((automation) => (
            <Row key={automation.uid} automation={automation} factory={factory} names={names} reload={list.reload} />
          ))}
        </Table>
      )}
    </>
  );
}

interface RowProps {
  readonly automation: Automation;
  readonly factory: Factory;
  readonly names: ReadonlyMap<string, string>;
  readonly reload: () => Promise<void>;
}

function Row({ automation, factory, names, reload }: RowProps) {
  const { uid, name, enabled, triggers } = automation;
  const params = { path: { factoryUid: factory.uid, uid } };
  return (
    <tr>
      <td class="untrusted">
        <Link to={`automations/${uid}?factory=${factory.uid}`}>
          <strong>{name}</strong>
        </Link>
        {automation.source === 'definition' && <div class="muted">from definition files</div>}
      </td>
      <td>
        <Badge look={enabled ? 'good' : 'off'}>{enabled ? 'Enabled' : 'Disabled'}</Badge>
      </td>
      <td class="untrusted">
        {triggers.map((trigger, index) => (
          <div key={index}>
            {describe(trigger, names)}
            {trigger.obstacle !== undefined && <div class="failure">{trigger.obstacle.detail}</div>}
          </div>
        ))}
      </td>
      <td>
        <Time at={automation.updated_at} />
      </td>
      <td>
        <div class="actions">
          <Action
            run={async () => {
              // A list has only the beginning of the prompt.
              const current = await content(api.GET('/factories/{factoryUid}/automations/{uid}', { params }));
              const body = { ...requestOf(current), enabled: !enabled };
              await content(api.PUT('/factories/{factoryUid}/automations/{uid}', { params, body }));
              await reload();
            }}
          >
            {enabled ? 'Disable' : 'Enable'}
          </Action>
          <Action
            class="danger"
            confirm={`Delete the automation ${name}? Runs that it has started continue.`}
            run={async () => {
              await content(api.DELETE('/factories/{factoryUid}/automations/{uid}', { params }));
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

function describe(trigger: Automation['triggers'][number], names: ReadonlyMap<string, string>): string {
  const { filter, schedule } = trigger as {
    readonly filter?: { readonly webhook_ids?: readonly string[]; readonly payload?: object };
    readonly schedule?: { readonly cron?: string; readonly timezone?: string };
  };
  if (trigger.provider === 'webhook') {
    const webhook = names.get(filter?.webhook_ids?.[0] ?? '') ?? 'a deleted webhook';
    return `Deliveries of ${webhook}${filter?.payload === undefined || Object.keys(filter.payload).length === 0 ? '' : ' that match a filter'}`;
  }
  if (trigger.provider === 'schedule') return `Times ${schedule?.cron ?? ''} ${schedule?.timezone ?? 'UTC'}`;
  return `${trigger.provider}: ${trigger.event}`;
}
