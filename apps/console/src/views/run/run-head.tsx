import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { Action, Link, Time } from '../../components/basics';
import { copy as writeToClipboard } from '../../components/copy';
import { useResource } from '../../components/resource';
import { duration } from '../../format';
import { hrefOf, navigate } from '../../router';
import { may } from '../../session';
import { curlOf } from './curl';
import { ENDED } from './live-run';

type Run = Schemas['RunItem'];

interface RelatedLinkProps {
  readonly to: string;
  readonly label: string;
  readonly name: string;
}

const RelatedLink = ({ to, label, name }: RelatedLinkProps) => (
  <span>
    {label}{' '}
    <Link to={to}>
      <bdi>{name}</bdi>
    </Link>
  </span>
);

interface Related {
  readonly environment: string | undefined;
  readonly automation: string | undefined;
  readonly webhook: string | undefined;
  readonly factory: string;
}

/**
 * Names of what the user may read and nobody has deleted; a part of the id is shown instead of others. From the lists, in which a
 * deleted resource is no error.
 */
async function readNames({ environment, automation, webhook, factory }: Related) {
  const mayReadFactory = factory !== '' && may('factories:manage');
  const path = { factoryUid: factory };
  const read = (isWanted: boolean, get: () => Promise<string | undefined>) =>
    isWanted ? get().catch(() => undefined) : undefined;
  const [environmentName, automationName, webhookName] = await Promise.all([
    read(environment !== undefined, async () => {
      const { environments } = await content(api.GET('/agent/environments'));
      return environments.find(({ uid }) => uid === environment)?.config.name;
    }),
    read(automation !== undefined && mayReadFactory, async () => {
      const params = { path, query: { limit: 500 } };
      const { automations } = await content(api.GET('/factories/{factoryUid}/automations', { params }));
      return automations.find(({ uid }) => uid === automation)?.name;
    }),
    read(webhook !== undefined && mayReadFactory, async () => {
      const { webhooks } = await content(api.GET('/factories/{factoryUid}/webhooks', { params: { path } }));
      return webhooks.find(({ uid }) => uid === webhook)?.name;
    }),
  ]);
  return { environment: environmentName, automation: automationName, webhook: webhookName };
}

export function Facts({ run }: { readonly run: Run }) {
  const { created_at: createdAt, started_at: startedAt, finished_at: finishedAt, creator, agent_config: config } = run;
  const { request_usage: usage, schedule, metadata = {}, parent_run_id: parent, forked_from: forkedFrom } = run;
  // Labels that a user may have set.
  const {
    automation_id: automation,
    webhook_uid: webhook,
    delivery_id: delivery,
    factory_uid: factory = '',
  } = metadata;
  const environment = config?.environment_id;
  const names = useResource(() => readNames({ environment, automation, webhook, factory }), run.run_id);
  const inFactory = `?factory=${encodeURIComponent(factory)}`;
  const cost = [usage?.inference_cost_usd, usage?.compute_cost_usd, usage?.platform_cost_usd];
  const total = cost.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  const model = config?.harness?.model_id ?? config?.model_id;
  return (
    <div class="facts">
      <span>
        Created <Time at={createdAt} />
        {creator?.display_name !== undefined && (
          <>
            {' by '}
            <bdi>{creator.display_name}</bdi>
          </>
        )}
      </span>
      {startedAt && finishedAt && <span>Took {duration(Date.parse(finishedAt) - Date.parse(startedAt))}</span>}
      <span>
        Agent <bdi>{config?.harness?.type ?? 'oz'}</bdi>
        {model !== undefined && model !== '' && (
          <>
            {', '}
            <bdi>{model}</bdi>
          </>
        )}
      </span>
      {run.source !== undefined && <span>Source {run.source.toLowerCase().replaceAll('_', ' ')}</span>}
      {usage?.total_tokens !== undefined && <span>{usage.total_tokens.toLocaleString()} tokens</span>}
      {cost.some((part) => part !== undefined) && <span>${total.toFixed(total < 1 ? 4 : 2)}</span>}
      {schedule !== undefined && (
        <RelatedLink label="Schedule" to={`schedules/${schedule.schedule_id}`} name={schedule.schedule_name} />
      )}
      {automation !== undefined && (
        <RelatedLink
          label="Automation"
          to={`automations/${encodeURIComponent(automation)}${inFactory}`}
          name={names.data?.automation ?? automation.slice(-6)}
        />
      )}
      {webhook !== undefined && delivery !== undefined && (
        <RelatedLink
          label="Delivery"
          to={`webhooks/${encodeURIComponent(webhook)}${inFactory}&delivery=${encodeURIComponent(delivery)}`}
          name={[names.data?.webhook, delivery.slice(-6)].filter((part) => part !== undefined).join(' ')}
        />
      )}
      {environment !== undefined && (
        <RelatedLink
          label="Environment"
          to={`environments/${encodeURIComponent(environment)}`}
          name={names.data?.environment ?? environment.slice(-6)}
        />
      )}
      {parent !== undefined && <Link to={`runs/${parent}`}>{forkedFrom ? 'Forked from this run' : 'Parent run'}</Link>}
      {run.rerun_of !== undefined && <Link to={`runs/${run.rerun_of}`}>Rerun of this run</Link>}
      <Link to={`runs/${run.run_id}?tab=details`}>Related runs</Link>
    </div>
  );
}

/** The request that would create the same run. Masked values cannot be sent again and are left out. */
function createRequest({ prompt, submitted_prompt: submitted, title, agent_config: config }: Run): unknown {
  const withoutMasked = (value: unknown): unknown =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(
          Object.entries(value).flatMap(([key, item]) => (item === '***' ? [] : [[key, withoutMasked(item)]])),
        );
  return { prompt: submitted ?? prompt, title, ...(config && { config: withoutMasked(config) }) };
}

interface ActionsProps {
  readonly run: Run;
  readonly state: string;
  readonly mayWrite: boolean;
}

export function Actions({ run, state, mayWrite }: ActionsProps) {
  const note = useSignal('');
  const params = { path: { runId: run.run_id } };
  const open = ({ run_id: id }: { readonly run_id: string }): void => navigate(`runs/${id}`);
  const copy = async (text: string, what: string): Promise<void> => {
    await writeToClipboard(text);
    note.value = `${what} copied`;
  };
  return (
    <div class="actions">
      {mayWrite && (
        <>
          {(state === 'INPROGRESS' || state === 'BLOCKED') && (
            <Action run={() => content(api.POST('/agent/runs/{runId}/interrupt', { params }))}>Interrupt</Action>
          )}
          {!ENDED.has(state) && (
            <Action class="danger" run={() => content(api.POST('/agent/runs/{runId}/cancel', { params }))}>
              Cancel
            </Action>
          )}
          <Action run={async () => open(await content(api.POST('/agent/runs/{runId}/rerun', { params })))}>
            Rerun
          </Action>
          <Action run={() => forkRun(run.run_id)}>Fork</Action>
        </>
      )}
      <Action run={() => copy(`${location.origin}${hrefOf(`runs/${run.run_id}`)}${location.search}`, 'Link')}>
        Share
      </Action>
      <Action run={() => copy(curlOf('POST', `${API_URL}/agent/runs`, createRequest(run)), 'Command')}>As curl</Action>
      <span class="muted" role="status">
        {note.value}
      </span>
    </div>
  );
}

/** Opens the fork. `at`: a sequence number of the log, or the id of a step. */
export async function forkRun(runId: string, at?: string | number): Promise<void> {
  const body = at === undefined ? {} : { at };
  const { runs } = await content(api.POST('/agent/runs/{runId}/fork', { params: { path: { runId } }, body }));
  if (runs[0]) navigate(`runs/${runs[0].run_id}`);
}
