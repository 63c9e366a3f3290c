import type {
  AgentConfig,
  PrincipalRef,
  Run,
  RunExecutionLocation,
  RunMode,
  RunSourceType,
  StatusMessage,
} from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';

export interface RunRow {
  id: string;
  team_uid: string | null;
  owner_user_uid: string | null;
  state: RunState;
  title: string;
  prompt: string;
  source: RunSourceType;
  execution_location: RunExecutionLocation;
  mode: RunMode;
  interactive: boolean;
  creator_type: PrincipalRef['type'];
  creator_uid: string;
  executor_type: PrincipalRef['type'];
  executor_uid: string;
  config: AgentConfig;
  metadata: Record<string, string> | null;
  parent_run_id: string | null;
  conversation_id: string | null;
  conversation_format: string | null;
  session_id: string | null;
  status_message: StatusMessage | null;
  created_at: Date;
  updated_at: Date;
  started_at: Date | null;
  /** Counted in SQL, the running turn included; bigint arrives as text. */
  run_time_ms: string | null;
  has_live_execution: boolean;
}

/** Columns of {@link RunRow} but for the prompt; `r` is the run, `e` its live execution (left join). */
export const RUN_COLUMNS = `r.id, r.team_uid, r.owner_user_uid, r.state, r.title, r.source, r.execution_location, r.mode,
  r.interactive, r.creator_type, r.creator_uid, r.executor_type, r.executor_uid, r.config, r.metadata, r.parent_run_id,
  r.conversation_id, r.conversation_format, r.session_id, r.status_message, r.created_at, r.updated_at, r.started_at,
  CASE WHEN r.started_at IS NULL THEN NULL
       ELSE r.busy_ms + coalesce(extract(epoch FROM headrace.now() - e.busy_since) * 1000, 0)::bigint END AS run_time_ms,
  e.id IS NOT NULL AS has_live_execution`;

export const LIVE_EXECUTION_JOIN = 'LEFT JOIN executions e ON e.run_id = r.id AND e.ended_at IS NULL';

export function toRun(row: RunRow): Run {
  return {
    id: row.id,
    owner:
      row.team_uid !== null
        ? { teamUid: row.team_uid, userUid: null }
        : { teamUid: null, userUid: row.owner_user_uid ?? '' },
    title: row.title,
    prompt: row.prompt,
    state: row.state,
    source: row.source,
    executionLocation: row.execution_location,
    creator: { type: row.creator_type, uid: row.creator_uid },
    executor: { type: row.executor_type, uid: row.executor_uid },
    config: row.config,
    mode: row.mode,
    interactive: row.interactive,
    metadata: row.metadata,
    parentRunId: row.parent_run_id,
    conversationId: row.conversation_id,
    conversationFormat: row.conversation_format,
    sessionId: row.session_id,
    statusMessage: row.status_message,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    runTimeMs: row.run_time_ms === null ? null : Number(row.run_time_ms),
    hasLiveExecution: row.has_live_execution,
  };
}
