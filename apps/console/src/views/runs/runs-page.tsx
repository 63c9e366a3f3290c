import { useSignal } from '@preact/signals';
import { Component } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { api, content, messageOf } from '../../api/client';
import {
  Action,
  Empty,
  Failure,
  Link,
  StateBadge,
  stateLabel,
  STATE_MEANING,
  Time,
  usePageTitle,
} from '../../components/basics';
import { loaded } from '../../components/loaded';
import { duration } from '../../format';
import { query, setQuery } from '../../router';
import { may } from '../../session';
import { FilterChips } from './filter-chips';
import { filterNames, queryOf } from './filters';
import { type Run, RunList } from './run-list';
import { subjectOf } from './subject';

const NewRun = loaded(async () => (await import('./new-run')).NewRun);

const STATES = [
  'QUEUED',
  'PENDING',
  'CLAIMED',
  'INPROGRESS',
  'BLOCKED',
  'SUCCEEDED',
  'FAILED',
  'ERROR',
  'CANCELLED',
] as const;
const SEARCH_DELAY_MS = 60;

export function RunsPage() {
  const list = useMemo(() => new RunList(), []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const search = useRef<HTMLInputElement>(null);
  /** What typing has set. */
  const typed = useRef<string>(undefined);
  usePageTitle('Runs');
  const q = query.value.get('q') ?? '';
  // Back, or a removed filter, has changed it. The text that is being typed stays.
  useEffect(() => {
    if (q !== typed.current && search.current !== null) {
      clearTimeout(timer.current);
      search.current.value = q;
    }
    typed.current = q;
  }, [q]);
  const states = query.value.getAll('state');
  const filter = queryOf(query.value);
  const filterKey = JSON.stringify(filter);
  useEffect(() => void list.show(filter), [list, filterKey]);
  useEffect(
    () => () => {
      list.close();
      clearTimeout(timer.current);
    },
    [list],
  );
  const isNew = query.value.get('new') !== null;
  const isFiltered = filterKey !== '{}';
  const runs = list.runs.value;
  // Operations concern only runs that the user sees.
  const shownSelected = (runs ?? []).flatMap(({ run_id: id }) => (selected.value.has(id) ? [id] : []));
  const toggle = (state: string): void =>
    setQuery({ state: states.includes(state) ? states.filter((known) => known !== state) : [...states, state] });
  return (
    <>
      <div class="head">
        <h1>Runs</h1>
        {may('runs:write') && (
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            New run
          </button>
        )}
      </div>
      <div class="tools" role="search">
        <input
          ref={search}
          type="search"
          aria-label="Search runs"
          placeholder="Search titles, prompts and skills"
          defaultValue={q}
          onInput={({ currentTarget }) => {
            clearTimeout(timer.current);
            timer.current = setTimeout(() => {
              typed.current = currentTarget.value.trim();
              setQuery({ q: typed.current });
            }, SEARCH_DELAY_MS);
          }}
        />
        <div class="chips" role="group" aria-label="States">
          {STATES.map((state) => (
            <button
              type="button"
              class="chip"
              aria-pressed={states.includes(state)}
              title={STATE_MEANING[state]}
              onClick={() => toggle(state)}
              key={state}
            >
              {stateLabel(state)}
            </button>
          ))}
        </div>
        <FilterChips />
      </div>
      <Failure message={list.failure.value} />
      {runs === undefined && list.failure.value === '' && <p role="status">Loading …</p>}
      {runs?.length === 0 &&
        (isFiltered ? (
          <Empty title="No run matches">
            <button type="button" onClick={() => setQuery(Object.fromEntries(filterNames.map((name) => [name, null])))}>
              Remove all filters
            </button>
          </Empty>
        ) : (
          <Empty title="No runs yet">
            <p>A run lets an agent work on a prompt in a prepared workspace.</p>
            {may('runs:write') && (
              <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
                Create the first run
              </button>
            )}
          </Empty>
        ))}
      {runs !== undefined && runs.length > 0 && (
        <ul class="card rows" aria-label="Runs">
          {runs.map((run) => (
            <Row
              key={run.run_id}
              run={run}
              isSelected={selected.value.has(run.run_id)}
              onSelect={(isSelected) => {
                // A row is rendered rarely: what its render has seen may be old.
                const next = new Set(
                  list.runs.peek()?.flatMap(({ run_id: id }) => (selected.peek().has(id) ? [id] : [])),
                );
                if (isSelected) next.add(run.run_id);
                else next.delete(run.run_id);
                selected.value = next;
              }}
            />
          ))}
        </ul>
      )}
      {list.hasMore.value && (
        <p class="empty">
          <Action run={() => list.more()}>Show more</Action>
        </p>
      )}
      {shownSelected.length > 0 && (
        <Selection
          ids={shownSelected}
          onDone={() => void list.refresh()}
          onSelect={(ids) => {
            selected.value = new Set(ids);
          }}
        />
      )}
      {isNew && <NewRun onClose={() => setQuery({ new: null })} />}
    </>
  );
}

interface RowProps {
  readonly run: Run;
  readonly isSelected: boolean;
  readonly onSelect: (isSelected: boolean) => void;
}

/** Not rendered again while its run is the same object: many rows may change in a second, and most do not. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ run, isSelected }: RowProps): boolean {
    return run !== this.props.run || isSelected !== this.props.isSelected;
  }

  override render({ run, isSelected, onSelect }: RowProps) {
    const {
      run_id: id,
      title,
      state,
      source,
      creator,
      created_at: createdAt,
      started_at: startedAt,
      finished_at: finishedAt,
    } = run;
    const subject = subjectOf(run);
    const reason = run.status_message?.error_code === undefined ? undefined : run.status_message.message;
    return (
      <li class="row">
        <input
          type="checkbox"
          aria-label={`Select ${title}`}
          checked={isSelected}
          onChange={({ currentTarget }) => onSelect(currentTarget.checked)}
        />
        <StateBadge state={state} />
        <span class="title">
          <Link to={`runs/${id}`}>{title}</Link>
          {subject !== '' && <bdi class="about">{subject}</bdi>}
          {reason !== undefined && <bdi class="about">{reason}</bdi>}
        </span>
        <span class="cell">
          {[source?.toLowerCase().replaceAll('_', ' '), creator?.display_name].filter(Boolean).join(' · ')}
        </span>
        <span class="cell created">
          <Time at={createdAt} />
        </span>
        <span class="cell">
          {startedAt && finishedAt ? duration(Date.parse(finishedAt) - Date.parse(startedAt)) : ''}
        </span>
      </li>
    );
  }
}

interface SelectionProps {
  readonly ids: readonly string[];
  readonly onDone: () => void;
  /** Those that stay selected. */
  readonly onSelect: (ids: readonly string[]) => void;
}

const MAX_REQUESTS = 8;

/** As Promise.allSettled, with few requests at the same time. */
async function settled(
  ids: readonly string[],
  send: (runId: string) => Promise<unknown>,
): Promise<PromiseSettledResult<unknown>[]> {
  const results: PromiseSettledResult<unknown>[] = [];
  const waiting = [...ids.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, id] = next;
      const [result] = await Promise.allSettled([send(id)]);
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: MAX_REQUESTS }, work));
  return results;
}

/** Operations on several runs. Those that fail stay selected, with the reason. */
function Selection({ ids, onDone, onSelect }: SelectionProps) {
  const forAll = async (send: (runId: string) => Promise<unknown>): Promise<void> => {
    const results = await settled(ids, send);
    onDone();
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ id: ids[index] ?? '', result }] : [],
    );
    onSelect(failed.map(({ id }) => id));
    const [first] = failed;
    if (first) throw new Error(`${failed.length} of ${ids.length}: ${messageOf(first.result.reason)}`);
  };
  const params = (runId: string) => ({ params: { path: { runId } } });
  return (
    <div class="selection" role="region" aria-label="Selected runs">
      <strong>{ids.length} selected</strong>
      <Action
        class="danger"
        {...(ids.length > 1 && { confirm: `Cancel ${ids.length} runs?` })}
        run={() => forAll((id) => content(api.POST('/agent/runs/{runId}/cancel', params(id))))}
      >
        Cancel
      </Action>
      <Action run={() => forAll((id) => content(api.POST('/agent/runs/{runId}/rerun', params(id))))}>Rerun</Action>
      <button type="button" class="plain" onClick={() => onSelect([])}>
        Clear the selection
      </button>
    </div>
  );
}
