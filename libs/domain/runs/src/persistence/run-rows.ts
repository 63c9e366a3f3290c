import {
  type ArtifactData,
  type ArtifactType,
  MAX_ARTIFACTS_PER_RUN,
  MAX_LISTED_ARTIFACTS,
} from '../domain/artifact.js';
import {
  type AgentConfig,
  DEBUG_WINDOW_COLUMNS,
  type DebugWindowRow,
  type PrincipalRef,
  type RunState,
  type RunUsage,
  type StatusMessage,
  toDebugWindow,
  type WaitingReason,
} from '#execution/executions';
import type { Run, RunExecutionLocation, RunMode, RunSchedule, RunSkill, RunSourceType } from '../domain/run.js';

export interface RunRow extends DebugWindowRow {
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
  /** Null without a skill, and of runs that an older version has created. */
  agent_skill: RunSkill | null;
  metadata: Record<string, string> | null;
  parent_run_id: string | null;
  ancestor_run_ids: string[];
  schedule: RunSchedule | null;
  trigger_url: string | null;
  usage: RunUsage | null;
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
  /** Only where one run is read. */
  waiting_reason?: WaitingReason | null;
  /** Null when there are none. */
  artifacts: { type: ArtifactType; created_at: string; data: ArtifactData }[] | null;
}

/** A FROM item of the run's newest artifacts. */
const newestArtifacts = (
  max: number,
): string => `(SELECT artifact_type, created_at, data, uid FROM artifacts WHERE run_id = r.id
            ORDER BY created_at DESC, uid DESC LIMIT ${max})`;

/** Columns of {@link RunRow} but for the prompt; `r` is the run, `e` its live execution (left join). */
const columns = (
  maxArtifacts: number,
): string => `r.id, r.team_uid, r.owner_user_uid, r.state, r.title, r.source, r.execution_location, r.mode,
  r.interactive, r.creator_type, r.creator_uid, r.executor_type, r.executor_uid, r.config, r.agent_skill, r.metadata, r.parent_run_id, r.ancestor_run_ids,
  r.schedule, r.trigger_url, r.usage,
  r.conversation_id, r.conversation_format, r.session_id, r.status_message, r.created_at, r.updated_at, r.started_at,
  CASE WHEN r.started_at IS NULL THEN NULL
       ELSE r.busy_ms + coalesce(extract(epoch FROM headrace.now() - e.busy_since) * 1000, 0)::bigint END AS run_time_ms,
  e.id IS NOT NULL AS has_live_execution, ${DEBUG_WINDOW_COLUMNS},
  (SELECT json_agg(json_build_object('type', a.artifact_type, 'created_at', a.created_at, 'data', a.data) ORDER BY a.created_at, a.uid)
     FROM ${newestArtifacts(maxArtifacts)} a) AS artifacts`;

export const RUN_COLUMNS = columns(MAX_LISTED_ARTIFACTS);
/** With all artifacts of the run. */
export const WHOLE_RUN_COLUMNS = columns(MAX_ARTIFACTS_PER_RUN);

/** In lists `prompt` holds the first 2,048 characters. */
export const LIST_PROMPT = 'left(r.prompt, 2048) AS prompt';
/**
 * Bytes of what may be large in a listed run: configuration, prompt, artifacts. The prompt's length is known without
 * reading it; of UTF-8, 2,048 characters have at most four times as many bytes.
 */
export const LISTED_BYTES = `octet_length(r.config::text) + least(octet_length(r.prompt), 8192)
  + coalesce((SELECT sum(octet_length(a.data::text)) FROM ${newestArtifacts(MAX_LISTED_ARTIFACTS)} a), 0)`;

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
    skill: row.agent_skill,
    mode: row.mode,
    interactive: row.interactive,
    metadata: row.metadata,
    parentRunId: row.parent_run_id,
    ancestorRunIds: row.ancestor_run_ids,
    schedule: row.schedule,
    triggerUrl: row.trigger_url,
    usage: row.usage,
    conversationId: row.conversation_id,
    conversationFormat: row.conversation_format,
    sessionId: row.session_id,
    statusMessage: row.status_message,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    runTimeMs: row.run_time_ms === null ? null : Number(row.run_time_ms),
    hasLiveExecution: row.has_live_execution,
    debugWindow: toDebugWindow(row),
    waitingReason: row.waiting_reason ?? null,
    artifacts: (row.artifacts ?? []).map(({ type, created_at: at, data }) => ({ type, createdAt: new Date(at), data })),
  };
}
