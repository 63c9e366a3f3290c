import type { Schemas } from '../../api/client';
import { plainText } from './ansi';
import type { LiveStep, Message, TimelineEvent } from './live-run';

type Block = Message['content'][number];
export type ActionBlock = Extract<Block, { type: 'action' }>;
export type ActionResult = Extract<Block, { type: 'action_result' }>;
type EventBlock = Extract<Block, { type: 'event' }>;

export const DENSITIES = ['conversation', 'timeline', 'raw'] as const;
export type Density = (typeof DENSITIES)[number];

interface RowFields {
  /** The place in the history. It stays the same while the run continues. */
  readonly id: string;
  /** Milliseconds; 0 if it is not known. */
  readonly at: number;
  /** Ids of the sub-agents that it belongs to. */
  readonly parents: readonly string[];
  readonly isError: boolean;
}

/** One entry of the history. The same object as long as it has not changed. */
export type Row = RowFields &
  (
    | { readonly kind: 'text'; readonly role: string; readonly text: string; readonly step: string }
    | { readonly kind: 'action'; readonly action: ActionBlock; readonly result: ActionResult | undefined }
    | { readonly kind: 'event'; readonly name: EventBlock['name']; readonly data: Record<string, unknown> }
    | { readonly kind: 'agent'; readonly description: string; readonly messages: number; readonly isEnded: boolean }
    | { readonly kind: 'lifecycle'; readonly event: TimelineEvent }
    | { readonly kind: 'message'; readonly path: readonly number[]; readonly index: number; readonly message: Message }
  );

/** Of the lifecycle, the conversation shows what a reader of it has to know. */
const IN_CONVERSATION: ReadonlySet<string> = new Set([
  ...['setup_command_finished', 'run_failed', 'run_errored', 'run_cancelled', 'run_interrupted', 'interrupt_failed'],
  ...['workspace_snapshot_failed', 'agent_waiting', 'answer_failed'],
]);
/** They come after messages of the same millisecond. */
const CLOSING = /^(?:run_(?!created|claimed)|workspace_snapshot|sandbox_shutdown|agent_waiting)/;
const FAILURES: ReadonlySet<string> = new Set(['run_failed', 'run_errored', 'workspace_snapshot_failed']);

const time = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text));

interface Cached {
  readonly next: Message | undefined;
  readonly rows: readonly Row[];
}
/** By density, because a message has one row of raw events. */
const cache = { blocks: new WeakMap<Message, Cached>(), raw: new WeakMap<Message, Cached>() };
const lifecycle = new WeakMap<TimelineEvent, Row>();

interface History {
  readonly steps: readonly LiveStep[];
  readonly timeline: readonly TimelineEvent[];
}

/** The entries in their order. Those of sub-agents are left out unless `isOpen` says otherwise. */
export function rowsOf({ steps, timeline }: History, density: Density, isOpen: (id: string) => boolean): Row[] {
  const rows: Row[] = [];
  const events =
    density === 'conversation' ? timeline.filter((event) => IN_CONVERSATION.has(event.event_type)) : timeline;
  let next = 0;
  const addEventsUntil = (at: number): void => {
    for (; next < events.length; next += 1) {
      const event = events[next];
      if (event === undefined) return;
      const row = lifecycleRow(event);
      if (row.at > at || (row.at === at && CLOSING.test(event.event_type))) return;
      rows.push(row);
    }
  };
  const addStep = (step: LiveStep, path: readonly number[], parents: readonly string[]): void => {
    const nested = new Map(step.steps.map((child, index) => [child.id, index]));
    const addAgent = (index: number): void => {
      const child = step.steps[index];
      if (child === undefined) return;
      const childPath = [...path, index];
      if (density === 'raw') return addStep(child, childPath, parents);
      const row = agentRow(child, childPath, parents);
      rows.push(row);
      if (isOpen(row.id)) addStep(child, childPath, [...parents, row.id]);
    };
    const make = density === 'raw' ? rawRow : blockRows;
    for (let index = 0; index < step.messages.length; index += 1) {
      const message = step.messages[index];
      if (message === undefined) continue;
      for (const row of cachedRows(density, message, step.messages[index + 1], () =>
        make(step, index, path, parents),
      )) {
        if (parents.length === 0) addEventsUntil(row.at);
        rows.push(row);
        const child = row.kind === 'action' ? nested.get(row.action.id) : undefined;
        if (child === undefined || row.kind !== 'action') continue;
        nested.delete(row.action.id);
        addAgent(child);
      }
    }
    for (const index of nested.values()) addAgent(index);
  };
  steps.forEach((step, index) => addStep(step, [index], []));
  addEventsUntil(Number.POSITIVE_INFINITY);
  return rows;
}

function cachedRows(
  density: Density,
  message: Message,
  next: Message | undefined,
  make: () => readonly Row[],
): readonly Row[] {
  const known = cache[density === 'raw' ? 'raw' : 'blocks'];
  const found = known.get(message);
  // The result of an action is in the message after it.
  if (found !== undefined && (found.next === next || density === 'raw')) return found.rows;
  const rows = make();
  known.set(message, { next, rows });
  return rows;
}

function lifecycleRow(event: TimelineEvent): Row {
  const found = lifecycle.get(event);
  if (found) return found;
  const { event_type: type, payload, sequence, occurred_at: at } = event;
  const exitCode = payload?.['exit_code'];
  const isError = FAILURES.has(type) || (type === 'setup_command_finished' && exitCode !== 0 && exitCode !== undefined);
  const row: Row = { kind: 'lifecycle', id: `s${sequence}`, at: time(at), parents: [], isError, event };
  lifecycle.set(event, row);
  return row;
}

const agentRow = (step: LiveStep, path: readonly number[], parents: readonly string[]): Row => ({
  kind: 'agent',
  id: `a${path.join('.')}`,
  at: time(step.messages[0]?.timestamp),
  parents,
  isError: false,
  description: step.description ?? 'Delegated work',
  messages: step.messages.length,
  isEnded: step.completed_at !== undefined,
});

const rawRow = (step: LiveStep, index: number, path: readonly number[], parents: readonly string[]): Row[] => {
  const message = step.messages[index];
  return message === undefined
    ? []
    : [
        {
          kind: 'message',
          id: `${path.join('.')}-${index}`,
          at: time(message.timestamp),
          parents,
          isError: message.content.some((block) => block.type === 'action_result' && block.state === 'failed'),
          path,
          index,
          message,
        },
      ];
};

function blockRows(step: LiveStep, index: number, path: readonly number[], parents: readonly string[]): Row[] {
  const message = step.messages[index];
  if (message === undefined) return [];
  const results = new Map<string, ActionResult>();
  for (const { content } of [message, step.messages[index + 1] ?? { content: [] }])
    for (const block of content) if (block.type === 'action_result') results.set(block.action_id, block);
  const at = time(message.timestamp);
  return message.content.flatMap((block, position): Row[] => {
    const fields = { id: `${path.join('.')}-${index}-${position}`, at, parents };
    switch (block.type) {
      case 'text':
        return [{ ...fields, kind: 'text', isError: false, role: message.role, text: block.text, step: step.id }];
      case 'action': {
        const result = results.get(block.id);
        return [{ ...fields, kind: 'action', isError: result?.state === 'failed', action: block, result }];
      }
      case 'event':
        return eventRow(block, fields);
      case 'action_result':
        return [];
    }
  });
}

function eventRow(block: EventBlock, fields: Omit<RowFields, 'isError'>): Row[] {
  const { name } = block;
  const data = block.data as Record<string, unknown>;
  const reason = data['stop_reason'];
  // The timeline has the lifecycle, and an ordinary end is the end of the text.
  if (name === 'lifecycle' || (name === 'turn_ended' && reason === 'end_turn')) return [];
  const isError = name === 'turn_ended' && (reason === 'error' || reason === 'refusal');
  return [{ ...fields, kind: 'event', isError, name, data }];
}

export const jsonOf = (value: unknown): string => JSON.stringify(value, null, 2);

/** The text of an output as its agent reported it. */
export function outputOf(output: Schemas['ActionResultBlock']['output']): string {
  const fields = output as Record<string, unknown>;
  const known = fields['output'];
  return typeof known === 'string' ? known : jsonOf(output);
}

/** What the search of the page looks at, in lower case. */
export function searchTextOf(row: Row): string {
  switch (row.kind) {
    case 'text':
      return row.text.toLowerCase();
    case 'action': {
      const { action, result } = row;
      const texts = [action.name.replaceAll('_', ' '), ...textsIn(action.input)];
      return [...texts, result === undefined ? '' : plainText(outputOf(result.output))].join('\n').toLowerCase();
    }
    case 'event':
      return [row.name.replaceAll('_', ' '), ...textsIn(row.data)].join('\n').toLowerCase();
    case 'agent':
      return row.description.toLowerCase();
    case 'lifecycle': {
      const texts = textsIn(row.event.payload).map(plainText);
      return [row.event.event_type.replaceAll('_', ' '), ...texts].join('\n').toLowerCase();
    }
    case 'message':
      return jsonOf(row.message).toLowerCase();
  }
}

const MAX_DEPTH = 12;
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((item) => textsIn(item, depth + 1));
}
