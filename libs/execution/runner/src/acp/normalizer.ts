import { newUuid, toStorableJson } from '#platform/kernel';
import {
  TOOL_KINDS,
  TOOL_STATUSES,
  type Plan,
  type ToolCall,
  type ToolKind,
  type ToolStatus,
  type Usage,
} from '#execution/runner-protocol';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { shrinkJson, shrinkText } from '../protocol/shrink.js';
import { defined, fields, items, number, text, type Fields } from './fields.js';
import { sessionFailureIn } from './model-failure.js';
import { toolNameOf } from './permissions.js';
import { chunkText, MAX_TEXT_BYTES, toolContent, withoutBinary } from './content.js';
import { SessionCost, tokensIn, TurnTokens } from './usage.js';

const KINDS: readonly string[] = TOOL_KINDS;
const STATUSES: readonly string[] = TOOL_STATUSES;
const PLAN_STATUSES: readonly string[] = ['pending', 'in_progress', 'completed'];
const MAX_RAW_BYTES = 65_536;
const MAX_TERMINAL_LENGTH = 4 * MAX_TEXT_BYTES;

/** Last reported values of a call; permission requests need not repeat them. */
export interface KnownCall {
  title?: string;
  name?: string;
  kind?: string;
  input?: unknown;
}

interface CallState extends KnownCall {
  isOpen: boolean;
  isDenied: boolean;
  terminalText?: string;
}

/** Handles one session, in order. Its events have stable ids, no binary data and nothing that cannot be stored. */
export class AcpNormalizer {
  private message: { kind: string; id: string } | null = null;
  private readonly calls = new Map<string, CallState>();
  private readonly cost = new SessionCost();
  private reportsCostEarly = false;
  /** A permission was denied in the current turn. */
  hasDenied = false;
  private readonly tokens = new TurnTokens();

  constructor(private readonly mintId: () => string = newUuid) {}

  update(raw: unknown): PlainEvent[] {
    const update = fields(toStorableJson(raw).value);
    switch (update['sessionUpdate']) {
      case 'agent_message_chunk':
        return this.chunk('message_chunk', update);
      case 'agent_thought_chunk':
        return this.chunk('thought_chunk', update);
      case 'tool_call':
      case 'tool_call_update':
        this.message = null;
        return this.toolCall(update);
      case 'plan':
        return [{ kind: 'plan', data: { ...plan(update) } }];
      case 'current_mode_update':
        return [{ kind: 'mode_changed', data: { mode: text(update['currentModeId']) ?? '' } }];
      case 'session_info_update':
        return this.advice(update);
      case 'usage_update':
        withCost(update, (total) => this.cost.note(total));
        return this.reportsCostEarly ? usageEvent({ cost_usd: this.cost.growth() || undefined }) : [];
      default:
        return [];
    }
  }

  /** Replayed updates are known already; only the cost so far is used. */
  replayed(raw: unknown): void {
    const update = fields(raw);
    if (update['sessionUpdate'] === 'usage_update') withCost(update, (total) => this.cost.replayed(total));
  }

  /** `resumed`: the session had turns before. `earlierCost`: their cost in US dollars, where it is known. */
  startSession(usageScope: 'turn' | 'session', resumed: boolean, earlierCost?: number): void {
    this.tokens.startSession(usageScope, resumed);
    this.cost.startSession(resumed, earlierCost);
  }

  /** @param reportsCostEarly emits `usage` events with the cost during the turn, not only at its end. */
  startTurn(reportsCostEarly = false): void {
    this.tokens.startTurn();
    this.hasDenied = false;
    this.message = null;
    this.reportsCostEarly = reportsCostEarly;
  }

  /** A permission request describes its tool call, sometimes better than the updates before it. */
  permissionCall(raw: unknown): PlainEvent[] {
    const call = fields(toStorableJson(raw).value);
    const isKnown = this.calls.get(String(call['toolCallId']))?.title !== undefined;
    const { title: _title, ...rest } = call;
    return Object.keys(rest).length <= 1 && isKnown ? [] : this.toolCall(isKnown ? rest : call);
  }

  /** Without denied calls: some agents never report their end. */
  get hasOpenCalls(): boolean {
    return [...this.calls.values()].some(({ isOpen, isDenied }) => isOpen && !isDenied);
  }

  knownCall(toolCallId: string): KnownCall {
    return this.calls.get(toolCallId) ?? {};
  }

  /** A later failure of this call is reported as denied. */
  markDenied(toolCallId: string): void {
    this.state(toolCallId).isDenied = true;
    this.hasDenied = true;
  }

  closeOpenCalls(status: 'completed' | 'failed'): PlainEvent[] {
    const open = [...this.calls].filter(([, state]) => state.isOpen);
    return open.map(([id, state]) => {
      state.isOpen = false;
      const call: ToolCall = { tool_call_id: id, status: state.isDenied ? 'failed' : status };
      return { kind: 'tool_call', data: { ...call, denied: state.isDenied || undefined } };
    });
  }

  /** Usage of the turn, from the response to its prompt and the increase of the session's cost, which is cumulative. */
  turnUsage(promptResponse: unknown): PlainEvent[] {
    const tokens = this.tokens.ofTurn(tokensIn(fields(promptResponse)));
    this.reportsCostEarly = false;
    return usageEvent({ ...tokens, cost_usd: this.cost.growth() });
  }

  /** A note of the agent about its session, which agents without typed failures write into the conversation. */
  private advice(update: Fields): PlainEvent[] {
    const failure = sessionFailureIn(update['_meta']);
    if (failure?.severity !== 'warning' || !failure.isAdvice) return [];
    return [{ kind: 'message_chunk', data: { message_id: this.mintId(), text: `Warning: ${failure.title}\n\n` } }];
  }

  private chunk(kind: 'message_chunk' | 'thought_chunk', update: Fields): PlainEvent[] {
    const id = text(update['messageId']) ?? (this.message?.kind === kind ? this.message.id : this.mintId());
    this.message = { kind, id };
    this.tokens.recordRequest(fields(update['_meta']));
    const content = chunkText(fields(update['content']));
    if (content === '') return [];
    const parent = parentCallId(update);
    return [{ kind, data: defined({ message_id: id, text: content, parent_tool_call_id: parent }) }];
  }

  private toolCall(update: Fields): PlainEvent[] {
    const id = text(update['toolCallId']);
    if (id === undefined || id === '') return [];
    const state = this.state(id);
    const meta = fields(update['_meta']);
    const status = oneOf<ToolStatus>(STATUSES, update['status']);
    const terminal = this.terminal(state, meta);
    const title = text(update['title']);
    const name = toolNameOf(update);
    Object.assign(state, defined<KnownCall>({ title, name, kind: text(update['kind']) }));
    if (update['rawInput'] !== undefined) state.input = fields(update['rawInput']);
    if (status !== undefined) state.isOpen = status !== 'completed' && status !== 'failed';
    // A request for permission needs all of it, the decision by rules only a part.
    if (!state.isOpen && state.input !== undefined) state.input = permissionInput(fields(state.input));
    const call = defined<ToolCall>({
      tool_call_id: id,
      tool_name: name,
      title: title === undefined ? undefined : shrinkText(title, 4_096),
      tool_kind: oneOf<ToolKind>(KINDS, update['kind']),
      status,
      denied: status === 'failed' && state.isDenied ? true : undefined,
      input: raw(update['rawInput']),
      output: raw(update['rawOutput']) ?? terminal.output,
      content: update['content'] === null ? null : this.content(update, state, terminal.changed),
      locations: locations(update['locations']),
      parent_tool_call_id: parentCallId(update),
    });
    // Vendors send updates that contain only fields that are not stored.
    return Object.keys(call).length === 1 && update['sessionUpdate'] === 'tool_call_update'
      ? []
      : [{ kind: 'tool_call', data: { ...call } }];
  }

  private content(update: Fields, state: CallState, terminalChanged: boolean): ToolCall['content'] | undefined {
    if (Array.isArray(update['content'])) return toolContent(items(update['content']), state.terminalText);
    return terminalChanged ? toolContent([{ type: 'terminal' }], state.terminalText) : undefined;
  }

  /** Codex shows a command's output in `_meta` only, piece by piece, and its exit code beside the last one. */
  private terminal(state: CallState, meta: Fields): { changed: boolean; output?: unknown } {
    const delta = text(fields(meta['terminal_output_delta'])['data']);
    const whole = text(fields(meta['terminal_output'])['data']);
    const changed = delta !== undefined || whole !== undefined;
    if (changed) {
      const shown = whole ?? `${state.terminalText ?? ''}${delta ?? ''}`;
      state.terminalText = shown.length > MAX_TERMINAL_LENGTH ? shrinkText(shown, MAX_TEXT_BYTES) : shown;
    }
    const exit = fields(meta['terminal_exit']);
    const exitCode = number(exit['exit_code']);
    if (exitCode === undefined) return { changed };
    const output = defined({ output: state.terminalText, exit_code: exitCode, signal: text(exit['signal']) });
    return { changed, output: raw(output) };
  }

  private state(id: string): CallState {
    const known = this.calls.get(id);
    if (known) return known;
    const state: CallState = { isOpen: true, isDenied: false };
    this.calls.set(id, state);
    return state;
  }
}

/** The part of an input that permissions depend on; file contents are not kept. */
const permissionInput = ({ command, cmd, url }: Fields): Fields => ({ command, cmd, url });

function usageEvent(usage: { [K in keyof Usage]: Usage[K] | undefined }): PlainEvent[] {
  const data = defined(usage);
  return Object.keys(data).length === 0 ? [] : [{ kind: 'usage', data: { ...data } }];
}

function withCost(update: Fields, then: (totalUsd: number) => void): void {
  const { currency, amount } = fields(update['cost']);
  const total = number(amount);
  if (currency === 'USD' && total !== undefined) then(total);
}

function raw(value: unknown): unknown {
  return value === undefined
    ? undefined
    : shrinkJson(withoutBinary(typeof value === 'string' ? shrinkText(value, MAX_TEXT_BYTES) : value), MAX_RAW_BYTES);
}

function plan(update: Fields): Plan {
  const entries = items(update['entries'])
    .slice(0, 200)
    .map((entry) => {
      const { content, status, priority } = fields(entry);
      return defined({
        content: shrinkText(text(content) ?? '', 4_096),
        status: oneOf<Plan['entries'][number]['status']>(PLAN_STATUSES, status) ?? 'pending',
        priority: text(priority),
      });
    });
  return { entries };
}

function locations(value: unknown): ToolCall['locations'] | undefined {
  if (!Array.isArray(value)) return value === null ? null : undefined;
  return value.slice(0, 100).flatMap((entry) => {
    const path = text(fields(entry)['path']);
    return path === undefined ? [] : [defined({ path, line: number(fields(entry)['line']) })];
  });
}

/** ACP has no field for sub-agents: vendors report the parent call in `_meta`, at its top or one level down. */
function parentCallId(update: Fields): string | undefined {
  const meta = fields(update['_meta']);
  for (const place of [meta, ...Object.values(meta).map(fields)]) {
    for (const [key, value] of Object.entries(place)) {
      if (/^parent_?tool_?(use|call)_?id$/i.test(key) && typeof value === 'string' && value !== '') return value;
    }
  }
  return undefined;
}

function oneOf<T extends string>(allowed: readonly string[], value: unknown): T | undefined {
  return typeof value === 'string' && allowed.includes(value) ? (value as T) : undefined;
}
