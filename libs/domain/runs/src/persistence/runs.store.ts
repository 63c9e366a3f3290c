import { Injectable } from '@nestjs/common';
import {
  attachmentRefs,
  DEBUG_WINDOW_COLUMNS,
  type DebugWindowRow,
  type PrincipalRef,
  type RunOwner,
  toDebugWindow,
  EXTERNAL_ACCOUNT,
  EXTERNAL_POOL,
  EXTERNAL_USER,
  WAITING_REASON,
  type WaitingReason,
} from '#execution/executions';
import type { AttachmentRef, GitPerson, PermissionRule } from '#execution/runner-protocol';
import { Database, statement } from '#platform/persistence';
import {
  type ArtifactData,
  type ArtifactType,
  MAX_ARTIFACTS_PER_RUN,
  MAX_LISTED_ARTIFACTS,
} from '../domain/artifact.js';
import type { Run } from '../domain/run.js';
import type { SubmittedInput } from '../domain/submitted-input.js';

export type RunRow = Omit<
  Run,
  'owner' | 'creator' | 'executor' | 'debugWindow' | 'waitingReason' | 'artifacts' | 'submittedPrompt'
> &
  DebugWindowRow &
  OwnerRow & {
    creator_type: PrincipalRef['type'];
    creator_uid: string;
    executor_type: PrincipalRef['type'];
    executor_uid: string;
    waiting_reason?: WaitingReason | null;
    /** Null when it is the prompt; absent where it is not read. */
    submitted_prompt?: string | null;
    /** Null when there are none. */
    artifacts: { type: ArtifactType; created_at: string; data: ArtifactData }[] | null;
  };

export type OwnerRow = { team_uid: string | null; owner_user_uid: string | null };

export const toOwner = ({ team_uid: teamUid, owner_user_uid: userUid }: OwnerRow): RunOwner =>
  teamUid === null ? { teamUid, userUid: userUid ?? '' } : { teamUid, userUid: null };

const newestArtifacts = (
  max: number,
): string => `(SELECT artifact_type, created_at, data, uid FROM artifacts WHERE run_id = r.id
            ORDER BY created_at DESC, uid DESC LIMIT ${max})`;

/** Columns of {@link RunRow} but for the prompt; `r` is the run, `e` its live execution (left join). */
const columns = (
  maxArtifacts: number,
): string => `r.id, r.team_uid, r.owner_user_uid, r.state, r.title, r.source, r.execution_location AS "executionLocation", r.mode,
  r.interactive, r.creator_type, r.creator_uid, r.executor_type, r.executor_uid, r.config, r.agent_skill AS skill, r.metadata,
  r.parent_run_id AS "parentRunId", r.rerun_of AS "rerunOf", r.ancestor_run_ids AS "ancestorRunIds", r.schedule, r.trigger_url AS "triggerUrl", r.usage,
  r.conversation_id AS "conversationId", r.conversation_format AS "conversationFormat", r.session_id AS "sessionId",
  r.forked_from_run_id AS "forkedFromRunId", r.forked_from_seq::float8 AS "forkedFromSeq",
  r.status_message AS "statusMessage", r.created_at AS "createdAt", r.updated_at AS "updatedAt", r.started_at AS "startedAt",
  r.finished_at AS "finishedAt",
  CASE WHEN r.started_at IS NULL THEN NULL
       ELSE (r.busy_ms + coalesce(extract(epoch FROM headrace.now() - e.busy_since) * 1000, 0)::bigint)::float8 END AS "runTimeMs",
  e.id IS NOT NULL AS "hasLiveExecution", ${DEBUG_WINDOW_COLUMNS},
  (SELECT json_agg(json_build_object('type', a.artifact_type, 'created_at', a.created_at, 'data', a.data) ORDER BY a.created_at, a.uid)
     FROM ${newestArtifacts(maxArtifacts)} a) AS artifacts`;

export const RUN_COLUMNS = columns(MAX_LISTED_ARTIFACTS);
export const WHOLE_RUN_COLUMNS = columns(MAX_ARTIFACTS_PER_RUN);

/**
 * The submitted prompt of run `r`, null when it is the prompt. Follow-ups that were sent before the agent was first started
 * belong to it.
 */
const submittedPromptSql = (cut: (text: string) => string): string => `coalesce(
  ${cut(`coalesce(r.submitted_prompt, r.prompt) || E'\\n\\n' || (
    SELECT string_agg(${cut('u.message')}, E'\\n\\n' ORDER BY u.position) FROM run_followups u
     WHERE u.run_id = r.id AND u.message <> '' AND u.outcome IN ('queued_prompt', 'queue_pending')
       AND (r.started_at IS NULL OR u.created_at <= r.started_at))`)},
  ${cut('r.submitted_prompt')}) AS submitted_prompt`;

const listed = (text: string): string => `left(${text}, 2048)`;
export const LIST_PROMPT = `${listed('r.prompt')} AS prompt, ${submittedPromptSql(listed)}`;
/**
 * Bytes of what may be large in a listed run: configuration, message, prompt and submitted prompt, artifacts. The prompt's length is known without
 * reading it; of UTF-8, 2,048 characters have at most four times as many bytes.
 */
export const LISTED_BYTES = `octet_length(r.config::text) + coalesce(octet_length(r.status_message::text), 0) + least(octet_length(r.prompt), 8192)
  + least(coalesce(octet_length(r.submitted_prompt), 0), 8192)
  + coalesce((SELECT sum(octet_length(a.data::text)) FROM ${newestArtifacts(MAX_LISTED_ARTIFACTS)} a), 0)`;

export const LIVE_EXECUTION_JOIN = 'LEFT JOIN executions e ON e.run_id = r.id AND e.ended_at IS NULL';

/** Names every field, since copying the rest of a row of forty columns takes longer than all else that a list does with it. */
export const toRun = (row: RunRow): Run => ({
  id: row.id,
  owner: toOwner(row),
  title: row.title,
  prompt: row.prompt,
  submittedPrompt: submittedPrompt(row),
  state: row.state,
  source: row.source,
  executionLocation: row.executionLocation,
  creator: { type: row.creator_type, uid: row.creator_uid },
  executor: { type: row.executor_type, uid: row.executor_uid },
  config: row.config,
  skill: row.skill,
  mode: row.mode,
  interactive: row.interactive,
  metadata: row.metadata,
  parentRunId: row.parentRunId,
  rerunOf: row.rerunOf,
  ancestorRunIds: row.ancestorRunIds,
  schedule: row.schedule,
  triggerUrl: row.triggerUrl,
  usage: row.usage,
  conversationId: row.conversationId,
  conversationFormat: row.conversationFormat,
  sessionId: row.sessionId,
  forkedFromRunId: row.forkedFromRunId,
  forkedFromSeq: row.forkedFromSeq,
  statusMessage: row.statusMessage,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  startedAt: row.startedAt,
  finishedAt: row.finishedAt,
  runTimeMs: row.runTimeMs,
  hasLiveExecution: row.hasLiveExecution,
  debugWindow: toDebugWindow(row),
  waitingReason: row.waiting_reason ?? null,
  artifacts: (row.artifacts ?? []).map(({ type, created_at: at, data }) => ({ type, createdAt: new Date(at), data })),
});

function submittedPrompt({ prompt, submitted_prompt: submitted }: RunRow): string | null {
  return submitted === undefined ? null : (submitted ?? prompt);
}

const FIND = statement('runs.find')`
  SELECT ${WHOLE_RUN_COLUMNS}, r.prompt, ${submittedPromptSql((text) => text)}, ${WAITING_REASON} FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`;

/** SQL condition: run `r` is readable in a {@link ReadableScope}; `$2`: its team uids, `$3`: the uid of its person. */
export const READABLE = '(r.team_uid = ANY($2) OR r.owner_user_uid = $3)';

const FIND_NEWEST = statement('runs.find-newest-of-conversation')`
  SELECT ${RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.conversation_id = $1 AND ${READABLE}
   ORDER BY r.created_at DESC, r.id DESC LIMIT 1`;

const FIND_SUBMITTED = statement('runs.find-submitted')`SELECT submitted FROM runs WHERE id = $1`;

const FIND_FOR_ASSIGNMENT = statement('runs.find-for-assignment')`
  SELECT ${RUN_COLUMNS}, r.prompt, r.prompt_taken AS "promptTaken", r.transcript IS NOT NULL AS "hasTranscript",
    (SELECT s.id FROM run_snapshots s WHERE s.run_id = r.id AND s.seq IS NOT NULL AND (r.prompt_taken OR s.seq = 0) ORDER BY s.seq DESC LIMIT 1) AS "snapshotId",
    r.prompt_taken AND coalesce((SELECT v.kind = 'turn_started' FROM run_events v
      WHERE v.run_id = r.id AND v.kind IN ('turn_started', 'turn_ended') ORDER BY v.seq DESC LIMIT 1), false) AS "lacksLastTurn",
    r.session_in_debug AS "sessionInDebug", r.trace_context AS "traceContext", CASE WHEN ${EXTERNAL_USER} IS NOT NULL
      THEN json_build_object('type', 'user', 'uid', ${EXTERNAL_USER})
      WHEN ${EXTERNAL_ACCOUNT} IS NOT NULL THEN json_build_object('type', 'service_account', 'uid', ${EXTERNAL_ACCOUNT}) END AS "externalExecutor",
    CASE WHEN e.pool = '${EXTERNAL_POOL}' THEN e.offered_at
      ELSE greatest(r.created_at, (SELECT max(f.created_at) FROM run_followups f WHERE f.run_id = r.id)) END AS "requestedAt",
    (SELECT coalesce(json_agg(json_build_object('approval_id', a.id, 'subject', a.subject) ORDER BY a.decided_at, a.id), '[]')
       FROM approvals a WHERE a.run_id = r.id AND a.always) AS "permissionRules",
    coalesce(${attachmentRefs('a.run_id = r.id AND a.position IS NOT NULL')}, '[]') AS attachments,
    CASE WHEN r.conversation_id IS NULL THEN NULL ELSE (SELECT sum((c.usage->>'cost_usd')::float8)
       FROM runs c WHERE c.conversation_id = r.conversation_id) END AS "conversationCostUsd",
    (SELECT json_build_object('name', u.display_name, 'email', u.email) FROM users u
      WHERE r.creator_type = 'user' AND u.uid = r.creator_uid AND u.is_email_verified) AS "creatorAsAuthor",
    (SELECT s.name FROM service_accounts s
      WHERE r.executor_type = 'service_account' AND s.uid = r.executor_uid AND s.is_agent_identity) AS "identityName"
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
  /** With which the workspace begins: the last one, or of a fork that starts from its prompt the one of its source. */
  readonly snapshotId: string | null;
  /** The last turn has no end, because its execution was lost. */
  readonly lacksLastTurn: boolean;
  readonly sessionInDebug: boolean;
  /** Who executes it on another machine; null for every other execution. */
  readonly externalExecutor: PrincipalRef | null;
  /** When that principal registered the execution; otherwise when the run got its last input. */
  readonly requestedAt: Date;
  /** What was allowed for the rest of the run, oldest first. */
  readonly permissionRules: readonly PermissionRule[];
  readonly attachments: readonly AttachmentRef[];
  /** What all runs of its conversation have cost; null when no agent has reported costs. */
  readonly conversationCostUsd: number | null;
  /** The user who created the run; null: it was not a user, or their e-mail address is not verified. */
  readonly creatorAsAuthor: GitPerson | null;
  /** Name of the agent identity that executes the run. */
  readonly identityName: string | null;
  /** The `traceparent` of the span that has created the run; null: it is not traced. */
  readonly traceContext: string | null;
}

@Injectable()
export class RunsStore {
  constructor(private readonly database: Database) {}

  async find(runId: string): Promise<Run | null> {
    const [row] = await this.database.query<RunRow>(FIND, [runId]);
    return row ? toRun(row) : null;
  }

  async findNewestOfConversation(conversationId: string, { teamUids, userUid }: ReadableScope): Promise<Run | null> {
    const [row] = await this.database.query<RunRow>(FIND_NEWEST, [conversationId, teamUids, userUid]);
    return row ? toRun(row) : null;
  }

  /** Null also for a run that an older version has created. */
  async findSubmitted(runId: string): Promise<SubmittedInput | null> {
    const [row] = await this.database.query<{ submitted: SubmittedInput | null }>(FIND_SUBMITTED, [runId]);
    return row?.submitted ?? null;
  }

  async findForAssignment(runId: string): Promise<AssignedRun | null> {
    const [row] = await this.database.query<RunRow & Omit<AssignedRun, 'run'>>(FIND_FOR_ASSIGNMENT, [runId]);
    return row ? { ...row, run: toRun(row) } : null;
  }
}
