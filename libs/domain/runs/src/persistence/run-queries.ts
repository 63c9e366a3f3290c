import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import type { PermissionRule } from '#execution/runner-protocol';
import { EXTERNAL_POOL, WAITING_REASON } from '#execution/executions';
import type { Run } from '../domain/run.js';
import { LIVE_EXECUTION_JOIN, RUN_COLUMNS, type RunRow, toRun, WHOLE_RUN_COLUMNS } from './run-rows.js';

const FIND: Statement = {
  name: 'runs.find',
  text: `SELECT ${WHOLE_RUN_COLUMNS}, r.prompt, ${WAITING_REASON} FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

/** SQL condition: run `r` is readable in a {@link ReadableScope}; `$2`: its team uids, `$3`: the uid of its person. */
export const READABLE = '(r.team_uid = ANY($2) OR r.owner_user_uid = $3)';

const FIND_NEWEST: Statement = {
  name: 'runs.find-newest-of-conversation',
  text: `SELECT ${RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.conversation_id = $1 AND ${READABLE}
   ORDER BY r.created_at DESC, r.id DESC LIMIT 1`,
};

const FIND_FOR_ASSIGNMENT: Statement = {
  name: 'runs.find-for-assignment',
  text: `SELECT ${RUN_COLUMNS}, r.prompt, r.prompt_taken, r.transcript IS NOT NULL AS has_transcript, r.session_in_debug, r.pool = '${EXTERNAL_POOL}' AS is_external,
    (SELECT json_agg(json_build_object('approval_id', a.id, 'subject', a.subject) ORDER BY a.decided_at, a.id)
       FROM approvals a WHERE a.run_id = r.id AND a.always) AS permission_rules,
    CASE WHEN r.conversation_id IS NULL THEN NULL ELSE (SELECT sum((c.usage->>'cost_usd')::float8)
       FROM runs c WHERE c.conversation_id = r.conversation_id) END AS conversation_cost_usd
   FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

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
export class RunQueries {
  constructor(private readonly database: Database) {}

  async find(runId: string): Promise<Run | null> {
    const [row] = await this.database.query<RunRow & Record<string, unknown>>(FIND, [runId]);
    return row ? toRun(row) : null;
  }

  /** The newest run of a conversation among those in `scope`, or null. */
  async findNewestOfConversation(conversationId: string, scope: ReadableScope): Promise<Run | null> {
    const { teamUids, userUid } = scope;
    const [row] = await this.database.query<RunRow & Record<string, unknown>>(FIND_NEWEST, [
      conversationId,
      teamUids,
      userUid,
    ]);
    return row ? toRun(row) : null;
  }

  async findForAssignment(runId: string): Promise<AssignedRun | null> {
    const [row] = await this.database.query<AssignmentRow & Record<string, unknown>>(FIND_FOR_ASSIGNMENT, [runId]);
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
