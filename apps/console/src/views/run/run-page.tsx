import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, StateBadge, Time, usePageTitle } from '../../components/basics';
import { useOperation } from '../../components/operation';
import { currentTab, Tabs } from '../../components/tabs';
import { duration } from '../../format';
import { navigate } from '../../router';
import { may } from '../../session';
import { Approvals } from './approvals';
import { Conversation } from './blocks';
import { Changes } from './changes';
import { ENDED, LiveRun, type TimelineEvent } from './live-run';

const TABS = ['conversation', 'timeline', 'changes', 'details'] as const;
const PERMISSION_EVENTS: ReadonlySet<string> = new Set(['run_blocked', 'permission_decided']);

export function RunPage({ id: runId }: { readonly id: string }) {
  const live = useMemo(() => new LiveRun(runId), [runId]);
  const run = useSignal<Schemas['RunItem'] | null>(null);
  const failure = useSignal('');
  const params = { path: { runId } };
  const load = (): Promise<void> =>
    content(api.GET('/agent/runs/{runId}', { params })).then(
      (found) => {
        run.value = found;
      },
      (error: unknown) => {
        failure.value = messageOf(error);
      },
    );
  useEffect(() => {
    live.open();
    return () => live.close();
  }, [live]);
  const state = live.state.value?.state;
  // Artifacts, times and usage change with the state.
  useEffect(() => void load(), [runId, state]);
  usePageTitle(run.value?.title ?? 'Run');
  if (!run.value)
    return failure.value === '' ? (
      <p role="status">Loading …</p>
    ) : (
      <Empty title="The run cannot be shown" isPage>
        <p>{failure.value}</p>
        <Link to="runs">Show the runs</Link>
      </Empty>
    );
  const tab = currentTab(TABS);
  const permissionEvents = live.timeline.value.filter(({ event_type: type }) => PERMISSION_EVENTS.has(type)).length;
  const current = state ?? run.value.state;
  const status = live.state.value ? live.state.value.status_message : run.value.status_message;
  return (
    <>
      <div class="head">
        <h1>{run.value.title}</h1>
        <StateBadge state={current} />
        {may('runs:write') && <Actions runId={runId} state={current} />}
      </div>
      <Facts run={run.value} />
      {live.connection.value === 'lost' && (
        <p role="status" class="muted">
          The connection was lost; it is being restored.
        </p>
      )}
      {status && (
        <p class={status.error_code === undefined ? 'muted' : 'failure block'} role="status">
          {status.message}
        </p>
      )}
      <Tabs label="Parts of the run" tabs={TABS} path={`runs/${runId}`} current={tab} />
      {tab === 'conversation' && (
        <>
          {live.steps.value.length === 0 && <p class="muted">The agent has not answered yet.</p>}
          <Conversation steps={live.steps.value} />
          <Approvals runId={runId} revision={`${current} ${permissionEvents}`} />
          {may('runs:write') && (
            <Followup runId={runId} onSent={() => live.connection.value === 'ended' && live.open()} />
          )}
        </>
      )}
      {tab === 'timeline' && <Timeline events={live.timeline.value} />}
      {tab === 'changes' && <Changes key={`${runId} ${current}`} runId={runId} />}
      {tab === 'details' && <pre tabIndex={0}>{JSON.stringify(run.value, null, 2)}</pre>}
    </>
  );
}

function Facts({ run }: { readonly run: Schemas['RunItem'] }) {
  const {
    created_at: createdAt,
    started_at: startedAt,
    finished_at: finishedAt,
    creator,
    agent_config: config,
    parent_run_id: parent,
  } = run;
  return (
    <div class="facts">
      <span>
        Created <Time at={createdAt} />
        {creator?.display_name !== undefined && ` by ${creator.display_name}`}
      </span>
      {startedAt && finishedAt && <span>Took {duration(Date.parse(finishedAt) - Date.parse(startedAt))}</span>}
      <span>Agent {config?.harness?.type ?? 'oz'}</span>
      {run.source !== undefined && <span>Source {run.source.toLowerCase().replaceAll('_', ' ')}</span>}
      {parent !== undefined && <Link to={`runs/${parent}`}>Parent run</Link>}
      {run.request_usage?.total_tokens !== undefined && (
        <span>{run.request_usage.total_tokens.toLocaleString()} tokens</span>
      )}
    </div>
  );
}

function Actions({ runId, state }: { readonly runId: string; readonly state: string }) {
  const params = { path: { runId } };
  const open = ({ run_id: id }: { readonly run_id: string }): void => navigate(`runs/${id}`);
  return (
    <div class="actions">
      {(state === 'INPROGRESS' || state === 'BLOCKED') && (
        <Action run={() => content(api.POST('/agent/runs/{runId}/interrupt', { params }))}>Interrupt</Action>
      )}
      {!ENDED.has(state) && (
        <Action class="danger" run={() => content(api.POST('/agent/runs/{runId}/cancel', { params }))}>
          Cancel
        </Action>
      )}
      <Action run={async () => open(await content(api.POST('/agent/runs/{runId}/rerun', { params })))}>Rerun</Action>
      <Action
        run={async () => {
          const { runs } = await content(api.POST('/agent/runs/{runId}/fork', { params }));
          if (runs[0]) open(runs[0]);
        }}
      >
        Fork
      </Action>
    </div>
  );
}

function Followup({ runId, onSent }: { readonly runId: string; readonly onSent: () => void }) {
  const message = useSignal('');
  const { isBusy, failure, execute } = useOperation();
  const send = async (): Promise<void> => {
    if (message.value.trim() === '' || isBusy) return;
    await execute(async () => {
      const params = { path: { runId } };
      await content(api.POST('/agent/runs/{runId}/followups', { params, body: { message: message.value } }));
      message.value = '';
      onSent();
    });
  };
  return (
    <form
      class="followup"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        aria-label="Message to the agent"
        placeholder="Send a message to the agent"
        rows={2}
        value={message.value}
        onInput={({ currentTarget }) => {
          message.value = currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void send();
        }}
      />
      <button class="primary" disabled={isBusy || message.value.trim() === ''}>
        Send
      </button>
      <Failure message={failure} />
    </form>
  );
}

function Timeline({ events }: { readonly events: readonly TimelineEvent[] }) {
  return (
    <ol class="card events">
      {events.map(({ event_uuid: id, event_type: type, occurred_at: at, payload }) => (
        <li key={id}>
          <Time at={at} />
          <span>{type.replaceAll('_', ' ')}</span>
          <span class="data">
            {payload === undefined || Object.keys(payload).length === 0 ? '' : JSON.stringify(payload)}
          </span>
        </li>
      ))}
    </ol>
  );
}
