import { useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { Markdown } from '../../components/markdown';
import { absoluteTime, duration } from '../../format';
import { setQuery } from '../../router';
import { compareLines } from '../../components/line-diff';
import { Diff } from '../../components/diff';
import { Output } from './output';
import { type Density, jsonOf, outputOf, type Row } from './rows';

export interface RowContext {
  readonly density: Density;
  readonly isOpen: (row: Row) => boolean;
  readonly setOpen: (row: Row, isOpen: boolean) => void;
  /** The selected row. */
  readonly selected: string | null;
  /** Null: the user may not fork. */
  readonly fork: ((at: string | number) => void) | null;
}

interface RowViewProps {
  readonly row: Row;
  readonly context: RowContext;
  readonly isOpen: boolean;
  readonly isSelected: boolean;
}

/** One entry, which is rendered again only when it has changed. */
export class RowView extends Component<RowViewProps> {
  override shouldComponentUpdate(next: RowViewProps): boolean {
    const { row, isOpen, isSelected, context } = this.props;
    return (
      next.row !== row ||
      next.isOpen !== isOpen ||
      next.isSelected !== isSelected ||
      next.context.density !== context.density
    );
  }

  override render({ row, context, isSelected }: RowViewProps) {
    const depth = Math.min(row.parents.length, 4);
    return (
      <li
        data-row={row.id}
        data-event={row.kind === 'lifecycle' ? row.event.event_type : undefined}
        class={`${depth > 0 ? `nested-${depth}` : ''} ${isSelected ? 'selected' : ''}`}
        aria-current={isSelected ? 'true' : undefined}
      >
        {context.density === 'conversation' ? (
          <Entry row={row} context={context} />
        ) : (
          <Line row={row} context={context} />
        )}
      </li>
    );
  }
}

/** A link to this entry. */
function When({ row }: { readonly row: Row }) {
  if (row.at === 0) return null;
  const time = new Date(row.at).toISOString();
  return (
    <a
      class="when"
      href={`?at=${encodeURIComponent(row.id)}`}
      title={`${absoluteTime(time)}: select this entry`}
      onClick={(event) => {
        event.preventDefault();
        setQuery({ at: row.id });
      }}
    >
      <Clock at={row.at} />
    </a>
  );
}
const Clock = ({ at }: { readonly at: number }) =>
  at === 0 ? <span /> : <time dateTime={new Date(at).toISOString()}>{CLOCK.format(at)}</time>;
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

interface FoldProps extends EntryProps {
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The content is made when it is opened. */
function Fold({ row, context, summary, children, class: className = 'call card', attributes = {} }: FoldProps) {
  const isOpen = context.isOpen(row);
  return (
    <details
      class={className}
      open={isOpen}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== isOpen) context.setOpen(row, currentTarget.open);
      }}
      {...attributes}
    >
      <summary>{summary}</summary>
      {isOpen && <div class="inside">{children}</div>}
    </details>
  );
}

interface EntryProps {
  readonly row: Row;
  readonly context: RowContext;
}

const WHO: Readonly<Record<string, string>> = { user: 'User', assistant: 'Agent', system: 'System', tool: 'Tool' };
const RESULT: Readonly<Record<string, string>> = { running: '…', completed: '✓', failed: '✕', denied: '⃠' };

/** What came from users, agents and their programs: isolated, so that its direction changes nothing around it. */
const Foreign = ({ text }: { readonly text: string }) => (
  <code>
    <bdi>{text.length > 300 ? `${text.slice(0, 300)}…` : text}</bdi>
  </code>
);

function Entry({ row, context }: EntryProps) {
  switch (row.kind) {
    case 'text':
      return (
        <article class={`message card ${row.role}`}>
          <div class="who">
            {WHO[row.role] ?? row.role}
            <span class="tools-of-row">
              {row.role === 'user' && context.fork !== null && row.parents.length === 0 && (
                <button type="button" class="plain small" onClick={() => context.fork?.(row.step)}>
                  Fork after this turn
                </button>
              )}
              <When row={row} />
            </span>
          </div>
          <LongText text={row.text} />
        </article>
      );
    case 'action':
      return <ActionEntry row={row} context={context} />;
    case 'agent':
      return (
        <Fold
          row={row}
          context={context}
          class="call card agent"
          summary={
            <>
              Sub-agent <Foreign text={row.description} />{' '}
              <span class="muted">
                {row.messages} {row.messages === 1 ? 'message' : 'messages'}
                {!row.isEnded && ', working'}
              </span>
            </>
          }
        >
          {null}
        </Fold>
      );
    case 'event':
      return <EventEntry row={row} context={context} />;
    case 'lifecycle':
      return <LifecycleEntry row={row} context={context} />;
    case 'message':
      return <Line row={row} context={context} />;
  }
}

const MAX_MARKDOWN = 20_000;

function LongText({ text }: { readonly text: string }) {
  const isWhole = useSignal(false);
  if (text.length <= MAX_MARKDOWN || isWhole.value) return <Markdown text={text} />;
  return (
    <>
      <Markdown text={text.slice(0, MAX_MARKDOWN)} />
      <button type="button" onClick={() => (isWhole.value = true)}>
        Show {(text.length - MAX_MARKDOWN).toLocaleString()} characters more
      </button>
    </>
  );
}

type ActionRow = Extract<Row, { kind: 'action' }>;

/** What an action is about, on one line. */
function subjectOf({ action }: ActionRow): string {
  const input = action.input as Record<string, unknown>;
  const paths = input['paths'];
  const found =
    [input['command'], input['query'], input['url'], input['description'], input['title'], input['tool_name']].find(
      (value) => typeof value === 'string' && value !== '',
    ) ??
    (Array.isArray(paths) && paths.length > 0 ? paths.join(', ') : undefined) ??
    ([input['server'], input['tool']].filter(Boolean).join(' ') ||
      input['skill_path'] ||
      input['bundled_skill_id'] ||
      '');
  return (typeof found === 'string' ? found : jsonOf(found)).split('\n')[0] ?? '';
}

const stateOf = ({ result }: ActionRow): string => result?.state ?? 'running';

function ActionMark({ row }: { readonly row: ActionRow }) {
  const state = stateOf(row);
  return (
    <>
      <span class={state === 'failed' || state === 'denied' ? 'failure' : 'muted'} aria-hidden="true">
        {RESULT[state]}{' '}
      </span>
      <span class="hidden">{state}</span>
      {row.action.name.replaceAll('_', ' ')}
    </>
  );
}

interface FileEdit {
  readonly path?: string;
  readonly old_text?: string;
  readonly new_text?: string;
  readonly truncated?: boolean;
}

function ActionEntry({ row, context }: { readonly row: ActionRow; readonly context: RowContext }) {
  const { action, result } = row;
  const input = action.input as Record<string, unknown>;
  const edits = Array.isArray(input['diffs']) ? (input['diffs'] as readonly FileEdit[]) : [];
  const command = input['command'];
  const code = result?.output['exit_code'];
  const output = result === undefined ? '' : outputOf(result.output);
  return (
    <Fold
      row={row}
      context={context}
      attributes={{ 'data-action': action.name, 'data-state': stateOf(row) }}
      summary={
        <>
          <ActionMark row={row} /> <Foreign text={subjectOf(row)} />
        </>
      }
    >
      {edits.length === 0 && <Output text={typeof command === 'string' ? command : jsonOf(action.input)} />}
      {edits.map((edit) => (
        <div class="edit">
          <div class="muted">
            <Foreign text={edit.path ?? ''} />
            {edit.truncated === true && ' shortened'}
          </div>
          <Diff lines={compareLines(edit.old_text ?? '', edit.new_text ?? '')} />
        </div>
      ))}
      {result && output !== '' && <Output text={output} />}
      {result?.state === 'running' && <p class="muted">Running …</p>}
      {typeof code === 'number' && code !== 0 && <p class="failure">Exit code {code}</p>}
      <When row={row} />
    </Fold>
  );
}

type EventRow = Extract<Row, { kind: 'event' }>;
interface PlanEntry {
  readonly content?: unknown;
  readonly status?: unknown;
}

const label = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
const textIn = (data: Readonly<Record<string, unknown>>, ...names: readonly string[]): string => {
  for (const name of names) if (typeof data[name] === 'string') return data[name];
  return '';
};

function decisionText({ kind, decision }: Readonly<Record<string, unknown>>): string {
  if (kind === 'question') return decision === 'answer' ? 'Question answered' : 'Question ended without an answer';
  return `Permission ${decision === 'allow' ? 'granted' : 'denied'}`;
}

function answerParts(answer: unknown): string[] {
  const parts = typeof answer === 'object' && answer !== null ? (answer as Readonly<Record<string, unknown>>) : {};
  return [textIn(parts, 'option'), textIn(parts, 'text')];
}

function EventEntry({ row, context }: { readonly row: EventRow; readonly context: RowContext }) {
  const { name, data } = row;
  switch (name) {
    case 'plan':
      return <Plan row={row} />;
    case 'thinking':
      return (
        <Fold
          row={row}
          context={context}
          summary={<span class="muted">Thought {firstWords(textIn(data, 'text'))}</span>}
        >
          <LongText text={textIn(data, 'text')} />
        </Fold>
      );
    case 'attachments': {
      const files = (Array.isArray(data['attachments']) ? data['attachments'] : []) as readonly Record<
        string,
        unknown
      >[];
      return (
        <p class="note">
          Attachments{' '}
          {files.map((file) => (
            <>
              <Foreign text={textIn(file, 'file_name')} />{' '}
            </>
          ))}
        </p>
      );
    }
    case 'permission_request':
      return (
        <p class="note">
          {data['kind'] === 'question' ? 'The agent asks' : 'The agent asks for permission'}:{' '}
          <bdi>{textIn(data, 'title')}</bdi>
        </p>
      );
    case 'permission_decision':
      return (
        <p class="note">
          {decisionText(data)}, by {textIn(data, 'by') || 'unknown'}
          {[textIn(data, 'note'), ...answerParts(data['answer'])]
            .filter((part) => part !== '')
            .map((part) => (
              <>
                {': '}
                <bdi>{part}</bdi>
              </>
            ))}
        </p>
      );
    case 'turn_ended':
      return (
        <p class={row.isError ? 'note failure' : 'note'}>
          The turn ended: {textIn(data, 'stop_reason').replaceAll('_', ' ')}. <bdi>{textIn(data, 'message')}</bdi>
        </p>
      );
    case 'mode_changed':
      return (
        <p class="note">
          Mode <Foreign text={textIn(data, 'mode_id')} />
        </p>
      );
    default:
      return (
        <Fold row={row} context={context} summary={<span class="muted">{label(name)}</span>}>
          <Output text={jsonOf(data)} />
        </Fold>
      );
  }
}

const firstWords = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 80)}…`).replaceAll('\n', ' ');

const PLAN: Readonly<Record<string, string>> = { completed: '✓', in_progress: '▸', pending: '○' };
const MAX_PLAN = 200;

function Plan({ row }: { readonly row: EventRow }) {
  const entries = (Array.isArray(row.data['entries']) ? row.data['entries'] : []) as readonly PlanEntry[];
  const done = entries.filter(({ status }) => status === 'completed').length;
  return (
    <div class="message card plan" role="group" aria-label="Plan">
      <div class="who">
        Plan
        <span class="muted">
          {done} of {entries.length}
        </span>
      </div>
      <progress value={done} max={Math.max(1, entries.length)} aria-label="Completed entries of the plan" />
      <ul>
        {entries.slice(0, MAX_PLAN).map(({ content, status }) => (
          <li data-status={String(status)}>
            <span aria-hidden="true">{PLAN[String(status)] ?? '○'}</span>{' '}
            <span class="hidden">{String(status).replaceAll('_', ' ')}: </span>
            <bdi>{typeof content === 'string' ? content : jsonOf(content)}</bdi>
          </li>
        ))}
      </ul>
      {entries.length > MAX_PLAN && <p class="muted">… {entries.length - MAX_PLAN} more</p>}
    </div>
  );
}

type LifecycleRow = Extract<Row, { kind: 'lifecycle' }>;

function LifecycleEntry({ row, context }: { readonly row: LifecycleRow; readonly context: RowContext }) {
  const { event_type: type, payload = {} } = row.event;
  if (type === 'setup_command_finished') {
    const code = payload['exit_code'];
    const took = payload['duration_ms'];
    return (
      <Fold
        row={row}
        context={context}
        attributes={{ 'data-setup': row.isError ? 'failed' : 'completed' }}
        summary={
          <>
            <span class={row.isError ? 'failure' : 'muted'} aria-hidden="true">
              {row.isError ? '✕' : '✓'}{' '}
            </span>
            <span class="hidden">{row.isError ? 'failed' : 'completed'}</span>
            Set-up <Foreign text={textIn(payload, 'command').split('\n')[0] ?? ''} />{' '}
            {typeof took === 'number' && <span class="muted">{duration(took)}</span>}
          </>
        }
      >
        <Output text={textIn(payload, 'command')} />
        {textIn(payload, 'output') !== '' && <Output text={textIn(payload, 'output')} />}
        {row.isError && <p class="failure">Exit code {String(code)}</p>}
      </Fold>
    );
  }
  return (
    <p class={row.isError ? 'note failure' : 'note'}>
      <When row={row} /> {label(type)} <bdi>{textIn(payload, 'message', 'reason')}</bdi>
    </p>
  );
}

/** One line of the timeline or of the raw events, with everything behind it. */
function Line({ row, context }: EntryProps) {
  if (row.kind === 'agent') return <Entry row={row} context={context} />;
  const [name, summary] = lineOf(row);
  return (
    <Fold
      row={row}
      context={context}
      class="line"
      summary={
        <>
          <Clock at={row.at} />
          <span class={row.isError ? 'failure' : ''}>{row.kind === 'action' ? <ActionMark row={row} /> : name}</span>
          <span class="data">
            <bdi>{summary.length > 300 ? `${summary.slice(0, 300)}…` : summary}</bdi>
          </span>
        </>
      }
    >
      <div class="actions">
        <When row={row} />
      </div>
      {row.kind === 'lifecycle' && context.fork !== null && row.event.event_type === 'workspace_snapshot' && (
        <div>
          <button type="button" onClick={() => context.fork?.(row.event.sequence)}>
            Fork from here
          </button>
        </div>
      )}
      {context.density === 'timeline' && row.kind !== 'lifecycle' ? (
        <Entry row={row} context={ALWAYS_OPEN(context)} />
      ) : (
        <Output text={jsonOf(dataOf(row))} />
      )}
    </Fold>
  );
}

/** An entry within an open line has no second fold. */
const ALWAYS_OPEN = (context: RowContext): RowContext => ({ ...context, isOpen: () => true, setOpen: () => undefined });

/** The data of the event as the stream sends it. */
function dataOf(row: Row): unknown {
  switch (row.kind) {
    case 'lifecycle':
      return row.event;
    case 'message':
      return { path: row.path, message_index: row.index, message: row.message };
    case 'event':
      return row.data;
    default:
      return row;
  }
}

function lineOf(row: Exclude<Row, { kind: 'agent' }>): readonly [string, string] {
  switch (row.kind) {
    case 'text':
      return [WHO[row.role] ?? row.role, row.text.slice(0, 400)];
    case 'action':
      return [row.action.name, subjectOf(row)];
    case 'event':
      return [
        label(row.name),
        row.name === 'plan' ? planLine(row) : textIn(row.data, 'text', 'title', 'message', 'decision'),
      ];
    case 'lifecycle': {
      const { event_type: type, payload } = row.event;
      const isEmpty = payload === undefined || Object.keys(payload).length === 0;
      return [type.replaceAll('_', ' '), isEmpty ? '' : JSON.stringify(payload).slice(0, 400)];
    }
    case 'message':
      return [`conversation ${row.path.join('.')}/${row.index}`, JSON.stringify(row.message).slice(0, 400)];
  }
}

const planLine = ({ data }: EventRow): string => {
  const entries = (Array.isArray(data['entries']) ? data['entries'] : []) as readonly PlanEntry[];
  return `${entries.filter(({ status }) => status === 'completed').length} of ${entries.length}`;
};

/** Heights before the first time that a row is shown; better guesses move the scrollbar less. */
export function estimateHeight(row: Row, density: Density): number {
  if (density !== 'conversation') return 37;
  if (row.kind !== 'text') return 50;
  const perLine = Math.max(30, Math.min(110, (innerWidth - 300) / 8));
  return 78 + Math.min(60, Math.ceil(row.text.length / perLine)) * 21;
}

/** What is open at first. */
export const isOpenAtFirst = (row: Row): boolean => row.kind === 'lifecycle' && row.isError;
