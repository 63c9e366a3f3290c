import { useComputed, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { hrefOf, query, setQuery } from '../../router';
import type { LiveRun } from './live-run';
import { estimateHeight, isOpenAtFirst, type RowContext, RowView } from './row-view';
import { type Density, type Row, rowsOf, searchTextOf } from './rows';
import { END, type Position, type ScrollRequest, VirtualList } from './virtual-list';

/** The search begins when somebody has stopped typing for this time, and again when the run continues. */
const SEARCH_DELAY_MS = 150;
const MAX_HIGHLIGHTS = 500;

interface HistoryProps {
  /** Shown beside the search, where they stay while the page scrolls. */
  readonly parts: ComponentChildren;
  readonly live: LiveRun;
  /** Shown before the history while the agent has not begun. */
  readonly empty: ComponentChildren;
  readonly density: Density;
  readonly position: Position;
  readonly fork: RowContext['fork'];
}

/** The history of a run in one density, with the search and the jumps of the page. */
export function History({ parts, live, empty, density, position, fork }: HistoryProps) {
  const openRows = useSignal<ReadonlyMap<string, boolean>>(new Map());
  const selected = query.value.get('at');
  const request = useSignal<ScrollRequest | null>(
    position.at === FIRST_VISIT && selected !== null ? { id: selected, number: 1 } : null,
  );
  const [steps, timeline] = [live.steps.value, live.timeline.value];
  const isOpen = (row: Row): boolean => openRows.value.get(row.id) ?? isOpenAtFirst(row);
  const rows = useMemo(
    () => rowsOf({ steps, timeline }, density, (id) => openRows.value.get(id) ?? false),
    [steps, timeline, density, openRows.value],
  );
  const setOpen = (changes: readonly (readonly [string, boolean])[]): void => {
    openRows.value = new Map([...openRows.peek(), ...changes]);
  };
  const scrollTo = (id: string): void => {
    request.value = { id, number: (request.peek()?.number ?? 0) + 1 };
  };
  const show = (row: Row): void => {
    setOpen([...row.parents, row.id].map((id) => [id, true]));
    setQuery({ at: row.id });
    scrollTo(row.id);
  };
  useEffect(() => {
    // A link to an entry of a sub-agent opens the sub-agent.
    if (selected !== null) setOpen(agentsOf(selected).map((id) => [id, true]));
  }, []);
  const all = (): Row[] => rowsOf({ steps, timeline }, density, () => true);
  const firstError = useMemo(() => all().find(({ isError }) => isError) ?? null, [steps, timeline, density]);
  const context: RowContext = {
    density,
    isOpen,
    setOpen: (row, isNowOpen) => setOpen([[row.id, isNowOpen]]),
    selected,
    fork,
  };
  const wanted = (query.value.get('find') ?? '').toLowerCase();
  return (
    <>
      <div class="run-bar">
        {parts}
        <Find key={density} revision={rows} all={all} show={show} />
        <span class="actions">
          {firstError !== null && (
            <button type="button" onClick={() => show(firstError)}>
              First error
            </button>
          )}
          {rows.length > 10 && (
            <>
              <button type="button" onClick={() => rows[0] && scrollTo(rows[0].id)}>
                Start
              </button>
              <button type="button" onClick={() => scrollTo(END)}>
                End
              </button>
            </>
          )}
        </span>
      </div>
      {density === 'conversation' && live.connection.value !== 'connecting' && steps.length === 0 && empty}
      {rows.length === 0 && <p class="muted">Nothing has happened yet.</p>}
      <VirtualList
        key={density}
        rows={rows}
        label="History"
        class={density === 'conversation' ? 'entries' : 'card events'}
        position={position}
        request={request}
        estimate={(row) => estimateHeight(row, density)}
        onRendered={(list) => highlight(list, wanted)}
      >
        {(row) => (
          <RowView key={row.id} row={row} context={context} isOpen={isOpen(row)} isSelected={row.id === selected} />
        )}
      </VirtualList>
    </>
  );
}

/** The position of a page that was opened with a link to an entry. */
export const FIRST_VISIT = -1;

/** `0.2.1-4-0` is in the sub-agents `a0.2` and `a0.2.1`. */
const agentsOf = (id: string): string[] => {
  const path = id.replace(/^a/, '').split('-')[0]?.split('.') ?? [];
  return path.slice(1).map((_, index) => `a${path.slice(0, index + 2).join('.')}`);
};

interface FindProps {
  /** Changes with the history. */
  readonly revision: readonly Row[];
  /** All rows, also those of closed sub-agents. */
  readonly all: () => readonly Row[];
  readonly show: (row: Row) => void;
}

/** Searches the whole history and not only what is on the screen. */
function Find({ revision, all, show }: FindProps) {
  const input = useRef<HTMLInputElement>(null);
  const text = useSignal(query.peek().get('find') ?? '');
  const matches = useSignal<readonly Row[] | null>(null);
  const current = useSignal(-1);
  const search = (): void => {
    const wanted = text.peek().trim().toLowerCase();
    if ((query.peek().get('find') ?? '') !== text.peek()) setQuery({ find: text.peek() });
    const known = matches.peek()?.[current.peek()]?.id;
    matches.value = wanted === '' ? null : all().filter((row) => searchTextOf(row).includes(wanted));
    current.value = matches.value?.findIndex(({ id }) => id === known) ?? -1;
  };
  useEffect(() => {
    if (text.value === '' && matches.peek() === null) return undefined;
    const timer = setTimeout(search, SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [text.value, revision]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const go = (by: number): void => {
    if (matches.peek() === null || text.peek() !== (query.peek().get('find') ?? '')) search();
    const found = matches.peek() ?? [];
    if (found.length === 0) return;
    const from = current.peek() < 0 && by < 0 ? 0 : current.peek();
    current.value = (from + by + found.length) % found.length;
    const row = found[current.value];
    if (row) show(row);
  };
  const count = useComputed(() => {
    const found = matches.value;
    if (found === null) return '';
    if (found.length === 0) return 'No match';
    return current.value < 0 ? `${found.length} entries` : `${current.value + 1} of ${found.length}`;
  });
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(1);
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label="Find in this run"
        placeholder="Find in this run ( / )"
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            text.value = '';
            event.currentTarget.blur();
          } else if (event.key === 'Enter' && event.shiftKey) {
            event.preventDefault();
            go(-1);
          }
        }}
      />
      <span class="muted" role="status">
        {count}
      </span>
      {text.value !== '' && (
        <>
          <button type="button" aria-label="Previous match" onClick={() => go(-1)}>
            ↑
          </button>
          <button type="button" aria-label="Next match" onClick={() => go(1)}>
            ↓
          </button>
        </>
      )}
    </form>
  );
}

/** Marks the matches on the screen without changing elements, which belong to the components. */
function highlight(list: HTMLElement, wanted: string): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete('find');
  if (wanted === '') return;
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(list, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < MAX_HIGHLIGHTS; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? '';
    // Lower case may have another length in rare scripts, in which offsets would be wrong.
    if (text.length !== node.nodeValue?.length) continue;
    for (let at = text.indexOf(wanted); at >= 0 && ranges.length < MAX_HIGHLIGHTS;) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
      at = text.indexOf(wanted, at + wanted.length);
    }
  }
  CSS.highlights.set('find', new Highlight(...ranges));
}

/** The links between the parts of the page, which keep the selection and the search. */
export function Parts({
  runId,
  parts,
  current,
}: {
  readonly runId: string;
  readonly parts: readonly string[];
  readonly current: string;
}) {
  const hrefTo = (part: string, index: number): string => {
    const next = new URLSearchParams(query.value);
    next.delete('tab');
    if (index > 0) next.set('tab', part);
    const text = next.toString();
    return hrefOf(`runs/${runId}${text === '' ? '' : `?${text}`}`);
  };
  return (
    <nav class="tabs" aria-label="Parts of the run">
      {parts.map((part, index) => (
        <a key={part} href={hrefTo(part, index)} {...(part === current ? { 'aria-current': 'page' as const } : {})}>
          {part === 'raw' ? 'Raw events' : part.charAt(0).toUpperCase() + part.slice(1)}
        </a>
      ))}
    </nav>
  );
}
