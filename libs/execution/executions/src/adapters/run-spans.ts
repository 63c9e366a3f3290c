import { parseTraceparent, runTraceparent, spanIdOf, type TraceParent, turnTraceparent } from '#platform/kernel';
import type { EndedSpan, SpanAttributes } from '#platform/observability';
import { DEFAULT_HARNESS } from '../domain/run.js';
import type { TracedEvent, TracedExecution, TracedRun } from '../persistence/run-traces.store.js';
import { agentAttributes, type GenAiVersion, schemaUrlOf } from './gen-ai-conventions.js';

/** Of a run; spans of further ones are missing. */
const MAX_TOOL_CALLS = 5_000;
/** Where no class of the error is known, as the conventions name it. */
const OTHER = '_OTHER';

interface OpenTurn {
  readonly context: TraceParent;
  readonly startedAt: number;
  readonly attributes: SpanAttributes;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  costUsd: number | undefined;
}

interface OpenCall {
  readonly spanId: string;
  readonly parent: TraceParent;
  readonly startedAt: number;
  name: string | undefined;
  kind: string | undefined;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const sum = (total: number | undefined, value: unknown): number | undefined =>
  typeof value === 'number' ? (total ?? 0) + value : total;

/** The spans of a run between two of its ends, in the order in which they ended. Ids are the same when it is called again. */
export function spansOfRun(
  runId: string,
  run: TracedRun,
  events: readonly TracedEvent[],
  version: GenAiVersion,
): EndedSpan[] {
  const creation = parseTraceparent(run.traceContext);
  return creation === null ? [] : new RunSpans(runId, run, creation, version).build(events);
}

class RunSpans {
  private readonly spans: EndedSpan[] = [];
  private readonly own: TraceParent;
  private readonly harness: string;
  private readonly schemaUrl: string;
  private readonly agentVersions = new Map<number | null, string>();
  private readonly turns = new Map<number | null, OpenTurn>();
  private readonly calls = new Map<string, OpenCall>();
  private readonly endedCalls = new Set<string>();

  constructor(
    private readonly runId: string,
    private readonly run: TracedRun,
    private readonly creation: TraceParent,
    private readonly version: GenAiVersion,
  ) {
    this.own = runTraceparent(creation, runId);
    this.harness = run.harness ?? DEFAULT_HARNESS;
    this.schemaUrl = schemaUrlOf(version);
  }

  build(events: readonly TracedEvent[]): EndedSpan[] {
    for (const event of events) this.add(event);
    for (const executionId of this.turns.keys()) this.endLostTurn(executionId);
    const { previousEndAt } = this.run;
    for (const [index, execution] of this.run.executions.entries())
      if (execution.offeredAt >= (previousEndAt ?? 0))
        this.addPhases(execution, this.run.executions[index - 1], events);
    if (previousEndAt === null) this.addRun();
    return this.spans;
  }

  private add({ kind, at, executionId, data }: TracedEvent): void {
    const turn = this.turns.get(executionId);
    switch (kind) {
      case 'session_started':
        if (text(data.agent_version)) this.agentVersions.set(executionId, text(data.agent_version) ?? '');
        return;
      case 'turn_started':
        if (turn) this.endTurn(executionId, turn, { at, errorType: OTHER });
        this.turns.set(executionId, this.openTurn(executionId, at, text(data.turn_id) ?? ''));
        return;
      case 'usage':
        if (!turn) return;
        turn.inputTokens = sum(turn.inputTokens, data.input_tokens);
        turn.outputTokens = sum(turn.outputTokens, data.output_tokens);
        turn.costUsd = sum(turn.costUsd, data.cost_usd);
        return;
      case 'tool_call':
        return this.addCall(executionId, at, data, turn?.context ?? this.own);
      case 'turn_ended': {
        if (!turn) return;
        const reason = text(data.stop_reason) ?? 'error';
        // An end that a person has asked for is no failure.
        const failed = reason !== 'end_turn' && reason !== 'cancelled';
        const errorType = failed ? (text(data.error_code) ?? (reason === 'error' ? OTHER : reason)) : undefined;
        return this.endTurn(executionId, turn, { at, reason, errorType });
      }
      default:
        return;
    }
  }

  private openTurn(executionId: number | null, at: number, turnId: string): OpenTurn {
    const { model, agentUid, conversationId } = this.run;
    const agent = {
      name: this.harness,
      id: agentUid ?? undefined,
      version: this.agentVersions.get(executionId),
      // Of the agent: its default.
      model: model === null || model === 'auto' ? undefined : model,
    };
    return {
      context: turnTraceparent(this.own, turnId),
      startedAt: at,
      attributes: {
        ...agentAttributes(agent, this.version),
        'gen_ai.conversation.id': conversationId ?? undefined,
        'headrace.run.id': this.runId,
        'headrace.execution.id': executionId === null ? undefined : String(executionId),
        'headrace.turn.id': turnId,
      },
      inputTokens: undefined,
      outputTokens: undefined,
      costUsd: undefined,
    };
  }

  private endTurn(
    executionId: number | null,
    turn: OpenTurn,
    {
      at,
      reason,
      errorType,
    }: { readonly at: number; readonly reason?: string; readonly errorType?: string | undefined },
  ): void {
    for (const [key, call] of this.calls) if (key.startsWith(`${executionId}/`)) this.endCall(key, call, at, undefined);
    this.turns.delete(executionId);
    this.spans.push({
      name: `invoke_agent ${this.harness}`,
      kind: 'client',
      context: turn.context,
      parentSpanId: this.own.spanId,
      startedAt: turn.startedAt,
      endedAt: at,
      attributes: {
        ...turn.attributes,
        'gen_ai.response.finish_reasons': reason === undefined ? undefined : [reason],
        'gen_ai.usage.input_tokens': turn.inputTokens,
        'gen_ai.usage.output_tokens': turn.outputTokens,
        'headrace.usage.cost_usd': turn.costUsd,
      },
      errorType,
      schemaUrl: this.schemaUrl,
    });
  }

  /** Its execution was lost or stopped, or the run was cancelled. */
  private endLostTurn(executionId: number | null): void {
    const turn = this.turns.get(executionId);
    if (!turn) return;
    const { executions, end } = this.run;
    const execution = executions.find(({ id }) => id === executionId);
    const reason = execution?.endReason ?? end.errorCode ?? OTHER;
    const errorType = end.kind === 'run_cancelled' ? undefined : reason;
    this.endTurn(executionId, turn, { at: Math.min(execution?.endedAt ?? end.at, end.at), errorType });
  }

  private addCall(executionId: number | null, at: number, data: TracedEvent['data'], turn: TraceParent): void {
    const key = `${executionId}/${text(data.tool_call_id) ?? ''}`;
    if (this.endedCalls.has(key)) return;
    let call = this.calls.get(key);
    if (!call) {
      if (this.calls.size + this.endedCalls.size >= MAX_TOOL_CALLS) return;
      const delegating = this.calls.get(`${executionId}/${text(data.parent_tool_call_id) ?? ''}`);
      const parent = delegating === undefined ? turn : { ...turn, spanId: delegating.spanId };
      const spanId = spanIdOf(`run/${this.runId}/tool/${key}`);
      call = { spanId, parent, startedAt: at, name: undefined, kind: undefined };
      this.calls.set(key, call);
    }
    call.name = text(data.tool_name) ?? call.name;
    call.kind = text(data.tool_kind) ?? call.kind;
    if (data.status === 'completed') this.endCall(key, call, at, undefined);
    if (data.status === 'failed') this.endCall(key, call, at, data.denied === true ? 'permission_denied' : OTHER);
  }

  private endCall(
    key: string,
    { spanId, parent, startedAt, name, kind }: OpenCall,
    at: number,
    errorType?: string,
  ): void {
    this.calls.delete(key);
    this.endedCalls.add(key);
    // Agents without names of tools report their kinds. Titles contain arguments.
    const tool = name ?? kind ?? 'other';
    this.spans.push({
      name: `execute_tool ${tool}`,
      kind: 'internal',
      context: { ...parent, spanId },
      parentSpanId: parent.spanId,
      startedAt,
      endedAt: at,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': key.slice(key.indexOf('/') + 1),
        'headrace.tool.kind': kind,
        'headrace.run.id': this.runId,
      },
      errorType,
      schemaUrl: this.schemaUrl,
    });
  }

  /** `queue` until the offer, and `setup` from the claim until the agent got its first prompt. */
  private addPhases(
    { id, offeredAt, claimedAt, endedAt }: TracedExecution,
    previous: TracedExecution | undefined,
    events: readonly TracedEvent[],
  ): void {
    const before = previous?.endedAt ?? this.run.createdAt;
    // Of the last time that the run was queued only.
    const queuedAt = this.run.queuedAt >= before && this.run.queuedAt <= offeredAt ? this.run.queuedAt : before;
    const attributes = { 'headrace.run.id': this.runId, 'headrace.execution.id': String(id) };
    this.addPhase('queue', id, queuedAt, offeredAt, attributes);
    if (claimedAt === null) return;
    const started = events.find(({ kind, executionId }) => kind === 'agent_started' && executionId === id);
    this.addPhase('setup', id, claimedAt, started?.at ?? Math.min(endedAt ?? Infinity, this.run.end.at), attributes);
  }

  private addPhase(
    name: 'queue' | 'setup',
    executionId: number,
    startedAt: number,
    endedAt: number,
    attributes: SpanAttributes,
  ): void {
    this.spans.push({
      name,
      kind: 'internal',
      context: { ...this.own, spanId: spanIdOf(`run/${this.runId}/${name}/${executionId}`) },
      parentSpanId: this.own.spanId,
      startedAt,
      endedAt,
      attributes,
    });
  }

  private addRun(): void {
    const { kind, at, errorCode } = this.run.end;
    const failed = kind === 'run_failed' || kind === 'run_errored';
    this.spans.push({
      name: 'run',
      kind: 'internal',
      context: this.own,
      parentSpanId: this.creation.spanId,
      startedAt: this.run.createdAt,
      endedAt: at,
      attributes: {
        'headrace.run.id': this.runId,
        'headrace.run.end': kind.slice('run_'.length),
        'headrace.run.source': this.run.source,
        'headrace.run.executions': this.run.executions.length,
        'headrace.run.harness': this.harness,
        'headrace.team.uid': this.run.teamUid ?? undefined,
      },
      errorType: failed ? (errorCode ?? OTHER) : undefined,
    });
  }
}
