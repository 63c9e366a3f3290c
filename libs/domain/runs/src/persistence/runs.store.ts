import { Injectable } from '@nestjs/common';
import {
  type AgentConfig,
  DEBUG_WINDOW_COLUMNS,
  type DebugWindowRow,
  EXTERNAL_POOL,
  type PrincipalRef,
  type RunState,
  type RunUsage,
  type StatusMessage,
  toDebugWindow,
  WAITING_REASON,
  type WaitingReason,
} from '#execution/executions';
import type { PermissionRule } from '#execution/runner-protocol';
import { Database, statement } from '#platform/persistence';
import {
  type ArtifactData,
  type ArtifactType,
  MAX_ARTIFACTS_PER_RUN,
  MAX_LISTED_ARTIFACTS,
} from '../domain/artifact.js';
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

const FIND = statement('runs.find')`
  SELECT ${WHOLE_RUN_COLUMNS}, r.prompt, ${WAITING_REASON} FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`;

/** SQL condition: run `r` is readable in a {@link ReadableScope}; `$2`: its team uids, `$3`: the uid of its person. */
export const READABLE = '(r.team_uid = ANY($2) OR r.owner_user_uid = $3)';

const FIND_NEWEST = statement('runs.find-newest-of-conversation')`
  SELECT ${RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.conversation_id = $1 AND ${READABLE}
   ORDER BY r.created_at DESC, r.id DESC LIMIT 1`;

const FIND_FOR_ASSIGNMENT = statement('runs.find-for-assignment')`
  SELECT ${RUN_COLUMNS}, r.prompt, r.prompt_taken, r.transcript IS NOT NULL AS has_transcript, r.session_in_debug, r.pool = '${EXTERNAL_POOL}' AS is_external,
    (SELECT json_agg(json_build_object('approval_id', a.id, 'subject', a.subject) ORDER BY a.decided_at, a.id)
       FROM approvals a WHERE a.run_id = r.id AND a.always) AS permission_rules,
    CASE WHEN r.conversation_id IS NULL THEN NULL ELSE (SELECT sum((c.usage->>'cost_usd')::float8)
       FROM runs c WHERE c.conversation_id = r.conversation_id) END AS conversation_cost_usd
   FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`;

/** Whose runs may be looked at: those of these teams, and this person's own. */
export interface ReadableScope {
  readonly teamUids: readonly string[];
  readonly userUid: string | null;
}

export interface AssignedRun {
  readonly run: Run;
  readonly promptTaken: boolean;
  readonly hasTranscript: boolean;
  /** The agent's session began in a debug window. */
  readonly sessionInDebug: boolean;
  /** Its creator executes it, on another machine. */
  readonly isExternal: boolean;
  /** What was allowed for the rest of the run, oldest first. */
  readonly permissionRules: readonly PermissionRule[];
  /** What all runs of its conversation have cost; null when no agent has reported costs. */
  readonly conversationCostUsd: number | null;
}

type AssignmentRow = RunRow & {
  prompt_taken: boolean;
  has_transcript: boolean;
  is_external: boolean;
  session_in_debug: boolean;
  permission_rules: PermissionRule[] | null;
  conversation_cost_usd: number | null;
};

@Injectable()
export class RunsStore {
  constructor(private readonly database: Database) {}

  async find(runId: string): Promise<Run | null> {
    const [row] = await this.database.query<RunRow>(FIND, [runId]);
    return row ? toRun(row) : null;
  }

  /** The newest run of a conversation among those in `scope`, or null. */
  async findNewestOfConversation(conversationId: string, scope: ReadableScope): Promise<Run | null> {
    const { teamUids, userUid } = scope;
    const [row] = await this.database.query<RunRow>(FIND_NEWEST, [conversationId, teamUids, userUid]);
    return row ? toRun(row) : null;
  }

  async findForAssignment(runId: string): Promise<AssignedRun | null> {
    const [row] = await this.database.query<AssignmentRow>(FIND_FOR_ASSIGNMENT, [runId]);
    return row
      ? {
          run: toRun(row),
          promptTaken: row.prompt_taken,
          hasTranscript: row.has_transcript,
          sessionInDebug: row.session_in_debug,
          isExternal: row.is_external,
          permissionRules: row.permission_rules ?? [],
          conversationCostUsd: row.conversation_cost_usd,
        }
      : null;
  }
}
