import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { api, ApiProblem, content, messageOf, type Schemas } from '../../api/client';
import { Empty, Failure, Link, StateBadge, usePageTitle } from '../../components/basics';
import { loaded } from '../../components/loaded';
import { Markdown } from '../../components/markdown';
import { useOperation } from '../../components/operation';
import { currentTab } from '../../components/tabs';
import { navigate, query } from '../../router';
import { may } from '../../session';
import { Followup } from './followup';
import { FIRST_VISIT, History, Parts } from './history';
import { ENDED, LiveRun } from './live-run';
import { Outcome } from './outcome';
import { DENSITIES } from './rows';
import { Actions, Facts, forkRun } from './run-head';
import type { Position } from './virtual-list';

const Approvals = loaded(async () => (await import('./approvals')).Approvals);
const Artifacts = loaded(async () => (await import('./artifacts')).Artifacts);
const Changes = loaded(async () => (await import('./changes')).Changes);
const Details = loaded(async () => (await import('./details')).Details);

const PARTS = [...DENSITIES, 'changes', 'details'] as const;
const FOLLOWUP_CHECK_MS = 15_000;
const PERMISSION_EVENTS: ReadonlySet<string> = new Set(['run_blocked', 'permission_decided']);

export function RunPage({ id: runId }: { readonly id: string }) {
  const live = useMemo(() => new LiveRun(runId), [runId]);
  const run = useSignal<Schemas['RunItem'] | null>(null);
  const failure = useSignal('');
  const place = useRef<Position | null>(null);
  const load = (): Promise<void> =>
    content(api.GET('/agent/runs/{runId}', { params: { path: { runId } } })).then(
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
  const connection = live.connection.value;
  // The stream of an ended run is closed: a follow-up from elsewhere is found by reading the run.
  useEffect(() => {
    if (connection !== 'ended') return undefined;
    const check = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const found = await content(api.GET('/agent/runs/{runId}', { params: { path: { runId } } }));
        if (live.connection.peek() !== 'ended') return;
        const isChanged = found.updated_at !== run.peek()?.updated_at;
        run.value = found;
        if (isChanged || !ENDED.has(found.state)) live.open();
      } catch (error) {
        // After another failure, the next check follows.
        if (error instanceof ApiProblem) live.stopAfter(error.status);
      }
    };
    const start = (): void => void check();
    const timer = setInterval(start, FOLLOWUP_CHECK_MS);
    addEventListener('focus', start);
    document.addEventListener('visibilitychange', start);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', start);
      document.removeEventListener('visibilitychange', start);
    };
  }, [connection, live]);
  const state = live.state.value?.state;
  // Artifacts, times and usage change with the state.
  useEffect(() => void load(), [runId, state]);
  const forking = useOperation();
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
  const part = currentTab(PARTS);
  const density = DENSITIES.find((known) => known === part);
  const artifacts = run.value.artifacts ?? [];
  const current = state ?? run.value.state;
  const status = live.state.value ? live.state.value.status_message : run.value.status_message;
  const mayWrite = may('runs:write');
  const isFailed = status?.error_code !== undefined;
  // The end, which is followed, unless the link names an entry. The reason of a failure is at the top.
  place.current ??= { at: query.peek().has('at') ? FIRST_VISIT : isFailed ? 0 : null };
  // What stays on the screen while the page scrolls.
  const parts = (
    <>
      <Parts runId={runId} parts={PARTS} current={part} />
      {connection === 'lost' && (
        <p role="status" class="muted">
          The connection was lost; it is being restored.
        </p>
      )}
      {connection === 'deleted' && <Failure message="The run was deleted." />}
      {connection === 'denied' && <Failure message="You may not read this run any more." />}
    </>
  );
  const outcome = status && (
    <Outcome
      status={status}
      environmentId={run.value.agent_config?.environment_id}
      onOpenDebug={() => {
        const box = document.getElementById('followup');
        if (box) box.focus();
        else navigate(`runs/${runId}`);
      }}
    />
  );
  return (
    <div class="run">
      <div class="head">
        <h1>
          <bdi>{run.value.title}</bdi>
        </h1>
        <StateBadge state={current} />
        <Actions run={run.value} state={current} mayWrite={mayWrite} />
      </div>
      <Facts run={run.value} />
      <Failure message={forking.failure} />
      {density !== undefined && isFailed && outcome}
      {density === undefined ? (
        <>
          <div class="run-bar">{parts}</div>
          {outcome}
        </>
      ) : (
        <History
          parts={parts}
          live={live}
          empty={<Prompt text={run.value.prompt ?? ''} />}
          density={density}
          position={place.current}
          fork={mayWrite ? (at) => void forking.execute(() => forkRun(runId, at)) : null}
        />
      )}
      {part === 'changes' && <Changes key={`${runId} ${current}`} runId={runId} />}
      {part === 'details' && <Details run={run.value} />}
      {density === 'conversation' && artifacts.length > 0 && <Artifacts artifacts={artifacts} />}
      {density !== undefined && !isFailed && outcome}
      {density === 'conversation' && (
        <>
          <PendingApprovals live={live} runId={runId} state={current} />
          {mayWrite && (
            <Followup
              runId={runId}
              isDebug={status?.session_debug_until !== undefined}
              onSent={() => live.connection.value === 'ended' && live.open()}
            />
          )}
        </>
      )}
    </div>
  );
}

const Prompt = ({ text }: { readonly text: string }) => (
  <article class="message card user" aria-label="Prompt">
    <div class="who">Prompt</div>
    <Markdown text={text} />
  </article>
);

/** Reads the requests again after each event of the run that may have changed them. */
function PendingApprovals({
  live,
  runId,
  state,
}: {
  readonly live: LiveRun;
  readonly runId: string;
  readonly state: string;
}) {
  const events = live.timeline.value.filter(({ event_type: type }) => PERMISSION_EVENTS.has(type)).length;
  // Most runs ask nothing, and load nothing for it.
  if (events === 0 && state !== 'BLOCKED') return null;
  return <Approvals runId={runId} revision={`${state} ${events}`} />;
}
