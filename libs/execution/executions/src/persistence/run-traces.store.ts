import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { RunEventKind } from '#execution/runner-protocol';

const FIELDS = [
  'turn_id',
  'stop_reason',
  'error_code',
  'agent_version',
  'tool_call_id',
  'tool_name',
  'tool_kind',
  'status',
  'denied',
  'parent_tool_call_id',
  'input_tokens',
  'output_tokens',
  'cost_usd',
] as const;
type TracedField = (typeof FIELDS)[number];

/** Times are in milliseconds since 1970. */
export interface TracedRun {
  /** The `traceparent` of the span that has created the run. */
  readonly traceContext: string;
  readonly createdAt: number;
  readonly queuedAt: number;
  readonly source: string;
  readonly teamUid: string | null;
  readonly conversationId: string | null;
  readonly harness: string | null;
  readonly model: string | null;
  /** Uid of the agent identity that executes the run. */
  readonly agentUid: string | null;
  readonly executions: readonly TracedExecution[];
  /** When the run had ended before a message has continued it; null: it ends for the first time. */
  readonly previousEndAt: number | null;
  readonly end: { readonly kind: RunEnd; readonly at: number; readonly errorCode: string | null };
}

export interface TracedExecution {
  readonly id: number;
  readonly offeredAt: number;
  readonly claimedAt: number | null;
  readonly endedAt: number | null;
  readonly endReason: string | null;
}

/** What spans need of an event. Prompts, outputs, titles and inputs of tools are not even read. */
export interface TracedEvent {
  readonly kind: RunEventKind;
  readonly at: number;
  readonly executionId: number | null;
  /** As runners have reported it, so a value may have any type. */
  readonly data: Readonly<Partial<Record<TracedField, unknown>>>;
}

/** Events by which a run ends. */
const RUN_ENDS = ['run_done', 'run_failed', 'run_errored', 'run_cancelled'] as const satisfies readonly RunEventKind[];
export type RunEnd = (typeof RUN_ENDS)[number];
const KINDS = [
  'session_started',
  'agent_started',
  'turn_started',
  'turn_ended',
  'tool_call',
  'usage',
] as const satisfies readonly RunEventKind[];
/** Of one end of a run; spans of what exceeds it are missing. */
const MAX_EVENTS = 50_000;

const milliseconds = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;

/** `$2`: kinds of its ends. Null: the run is not traced. */
const FIND = statement('run-traces.find')`
  SELECT r.trace_context AS "traceContext", ${milliseconds('r.created_at')} AS "createdAt", ${milliseconds('r.queued_at')} AS "queuedAt",
    r.source, r.team_uid AS "teamUid", r.conversation_id AS "conversationId", r.config #>> '{harness,type}' AS harness,
    coalesce(r.config #>> '{harness,model_id}', r.config->>'model_id') AS model,
    CASE WHEN r.executor_type = 'service_account' THEN r.executor_uid END AS "agentUid",
    (SELECT coalesce(json_agg(json_build_object('id', e.id, 'offeredAt', ${milliseconds('e.offered_at')}, 'claimedAt', ${milliseconds('e.claimed_at')},
        'endedAt', ${milliseconds('e.ended_at')}, 'endReason', e.end_reason) ORDER BY e.id), '[]') FROM executions e WHERE e.run_id = r.id) AS executions,
    (SELECT json_build_object('kind', v.kind, 'at', ${milliseconds('v.at')}, 'errorCode', v.data->>'error_code')
       FROM run_events v WHERE v.run_id = r.id AND v.seq = ends.last) AS "end",
    (SELECT ${milliseconds('v.at')} FROM run_events v WHERE v.run_id = r.id AND v.seq = ends.previous) AS "previousEndAt", coalesce(ends.previous, 0)::float8 AS after, ends.last::float8 AS last
   FROM runs r CROSS JOIN LATERAL (
     SELECT max(seq) AS last, CASE WHEN count(*) = 2 THEN min(seq) END AS previous FROM (
       SELECT seq FROM run_events WHERE run_id = r.id AND kind = ANY($2::text[]) ORDER BY seq DESC LIMIT 2) two) ends
  WHERE r.id = $1 AND r.trace_context IS NOT NULL AND ends.last IS NOT NULL`;

const EVENTS = statement('run-traces.events')`
  SELECT v.kind, ${milliseconds('v.at')} AS at, v.execution_id::float8 AS "executionId",
    jsonb_strip_nulls(jsonb_build_object(${FIELDS.map((name) => `'${name}', v.data->'${name}'`).join(', ')})) AS data
   FROM run_events v WHERE v.run_id = $1 AND v.seq > $2 AND v.seq <= $3 AND v.kind = ANY($4::text[]) ORDER BY v.seq LIMIT ${MAX_EVENTS}`;

@Injectable()
export class RunTracesStore {
  constructor(private readonly database: Database) {}

  /** The run with what has happened since it was created, or since it had ended before, until its last end. Null: not traced. */
  async find(runId: string): Promise<{ readonly run: TracedRun; readonly events: readonly TracedEvent[] } | null> {
    const [found] = await this.database.query<TracedRun & { after: number; last: number }>(FIND, [runId, RUN_ENDS]);
    if (!found) return null;
    const { after, last, ...run } = found;
    return { run, events: await this.database.query<TracedEvent>(EVENTS, [runId, after, last, KINDS]) };
  }
}
