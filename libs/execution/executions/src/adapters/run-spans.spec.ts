import { describe, expect, it } from 'vitest';
import type { EndedSpan } from '#platform/observability';
import type { TracedEvent, TracedRun } from '../persistence/run-traces.store.js';
import { spansOfRun } from './run-spans.js';

const RUN_ID = '0198c0de-0000-7000-8000-000000000001';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CREATION = '00f067aa0ba902b7';
const RUN: TracedRun = {
  traceContext: `00-${TRACE_ID}-${CREATION}-01`,
  createdAt: 1_000,
  queuedAt: 1_000,
  source: 'API',
  teamUid: 'team',
  conversationId: null,
  harness: 'codex',
  model: 'auto',
  agentUid: null,
  executions: [{ id: 7, offeredAt: 1_100, claimedAt: 1_150, endedAt: null, endReason: null }],
  previousEndAt: null,
  end: { kind: 'run_done', at: 1_401, errorCode: null },
};

const event = (
  kind: TracedEvent['kind'],
  at: number,
  data: TracedEvent['data'] = {},
  executionId = 7,
): TracedEvent => ({
  kind,
  at,
  executionId,
  data,
});
const call = (at: number, id: string, status: string, more: TracedEvent['data'] = {}): TracedEvent =>
  event('tool_call', at, { tool_call_id: id, status, ...more });
const turn = (at: number, id: string): TracedEvent => event('turn_started', at, { turn_id: id });

const spans = (events: readonly TracedEvent[], run: Partial<TracedRun> = {}, version: '1.41.0' | '1.36.0' = '1.41.0') =>
  spansOfRun(RUN_ID, { ...RUN, ...run }, events, version);
const named = (all: readonly EndedSpan[], name: string): EndedSpan => {
  const [found] = all.filter((span) => span.name === name);
  if (!found) throw new Error(`${name} is missing: ${all.map((span) => span.name).join(', ')}`);
  return found;
};

describe('the spans of a run', () => {
  it('are below each other, also calls that another call has delegated', () => {
    const all = spans([
      event('agent_started', 1_300),
      turn(1_310, 'a'),
      call(1_320, 'outer', 'in_progress', { tool_name: 'Task', tool_kind: 'think' }),
      call(1_330, 'inner', 'pending', { parent_tool_call_id: 'outer', tool_kind: 'execute' }),
      call(1_340, 'inner', 'failed', { denied: true }),
      call(1_350, 'outer', 'completed'),
      call(1_360, 'outer', 'completed', { tool_name: 'late' }),
      event('turn_ended', 1_400, { stop_reason: 'end_turn' }),
    ]);
    const run = named(all, 'run');
    const parent = named(all, 'invoke_agent codex');
    const outer = named(all, 'execute_tool Task');
    const inner = named(all, 'execute_tool execute');
    expect(all).toHaveLength(6);
    expect(run).toMatchObject({ parentSpanId: CREATION, startedAt: 1_000, endedAt: 1_401, errorType: undefined });
    expect(named(all, 'queue')).toMatchObject({ parentSpanId: run.context.spanId, startedAt: 1_000, endedAt: 1_100 });
    expect(named(all, 'setup')).toMatchObject({ parentSpanId: run.context.spanId, startedAt: 1_150, endedAt: 1_300 });
    expect(parent).toMatchObject({ parentSpanId: run.context.spanId, errorType: undefined });
    expect(outer).toMatchObject({ parentSpanId: parent.context.spanId, startedAt: 1_320, endedAt: 1_350 });
    expect(inner).toMatchObject({ parentSpanId: outer.context.spanId, errorType: 'permission_denied' });
    expect(new Set(all.map(({ context }) => context.spanId)).size).toBe(all.length);
    expect(all.every(({ context }) => context.traceId === TRACE_ID && context.isSampled)).toBe(true);
  });

  it('end with the execution that was lost, and the next one has others', () => {
    const all = spans(
      [
        turn(1_200, 'a'),
        call(1_210, 'open', 'in_progress', { tool_kind: 'read' }),
        event('turn_started', 2_200, { turn_id: 'b' }, 8),
        event('turn_ended', 2_300, { stop_reason: 'error', error_code: 'rate_limited' }, 8),
      ],
      {
        queuedAt: 1_900,
        end: { kind: 'run_failed', at: 2_301, errorCode: 'rate_limited' },
        executions: [
          { id: 7, offeredAt: 1_100, claimedAt: 1_150, endedAt: 1_800, endReason: 'lease_expired' },
          { id: 8, offeredAt: 2_000, claimedAt: 2_100, endedAt: null, endReason: null },
        ],
      },
    );
    const turns = all.filter(({ name }) => name === 'invoke_agent codex');
    expect(turns.map(({ endedAt, errorType }) => [endedAt, errorType])).toEqual([
      [2_300, 'rate_limited'],
      [1_800, 'lease_expired'],
    ]);
    expect(named(all, 'execute_tool read').endedAt).toBe(1_800);
    expect(all.filter(({ name }) => name === 'queue').map(({ startedAt }) => startedAt)).toEqual([1_000, 1_900]);
    expect(named(all, 'run')).toMatchObject({ errorType: 'rate_limited', endedAt: 2_301 });
  });

  it('of a message after the end are below the run, whose span is not exported again', () => {
    const events = [turn(5_000, 'b'), event('turn_ended', 5_100, { stop_reason: 'refusal' })];
    const continued = { previousEndAt: 1_401, end: { kind: 'run_failed', at: 5_101, errorCode: null } } as const;
    const all = spans(events, continued);
    expect(all.map(({ name, errorType }) => [name, errorType])).toEqual([['invoke_agent codex', 'refusal']]);
    expect(all[0]?.parentSpanId).toBe(named(spans([]), 'run').context.spanId);
    expect(spans(events, continued)).toEqual(all);
  });

  it('sum up what a turn has used, and follow the version of the conventions', () => {
    const events = [
      event('session_started', 1_250, { agent_version: '0.9' }),
      turn(1_300, 'a'),
      event('usage', 1_310, { input_tokens: 5, cost_usd: 0.25 }),
      event('usage', 1_390, { input_tokens: 7, output_tokens: 3, cost_usd: 0.5 }),
      event('turn_ended', 1_400, { stop_reason: 'cancelled' }),
    ];
    const common = {
      'gen_ai.request.model': 'router/gemini-2.5-pro',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.response.finish_reasons': ['cancelled'],
      'headrace.usage.cost_usd': 0.75,
    };
    const model = { model: 'router/gemini-2.5-pro' };
    const latest = named(spans(events, model), 'invoke_agent codex');
    expect(latest).toMatchObject({ errorType: undefined, schemaUrl: 'https://opentelemetry.io/schemas/1.41.0' });
    expect(latest.attributes).toMatchObject({
      ...common,
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.agent.version': '0.9',
    });
    const earlier = named(spans(events, model, '1.36.0'), 'invoke_agent codex');
    expect(earlier.schemaUrl).toBe('https://opentelemetry.io/schemas/1.36.0');
    expect(earlier.attributes).toMatchObject({ ...common, 'gen_ai.system': 'gcp.gemini' });
    expect(earlier.attributes).not.toHaveProperty('gen_ai.provider.name');
  });

  it('are none without a valid trace context', () => {
    expect(spans([turn(1_300, 'a')], { traceContext: 'none' })).toEqual([]);
  });
});
