import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import type { RunRepository } from '#domain/environments';
import type { RunSourceType, RunState } from '#domain/runs';
import type {
  AnswerChat,
  AnsweredPullRequest,
  AnswerPart,
  AnswerTarget,
  ChatDecision,
  ClaimedAnswer,
  PendingApproval,
  ReactionSubject,
} from '../domain/answer.js';

/** Events of one run and target; more of them at the same time are shown as something else that the run does. */
const MAX_LAUNCH_KEYS = 50;
/**
 * Also for an event that is evaluated again: nothing is added that is there already. The locks wait for transactions that change a
 * run and have not seen its row; a run that was deleted is left out.
 */
const RECORD = statement('run-answers.record')`
  WITH locked AS MATERIALIZED (SELECT id FROM runs WHERE id = ANY ($1) ORDER BY id FOR SHARE)
  INSERT INTO run_answers AS a (run_id, provider, repository, target_kind, target_number, parts, reactions, launch_keys,
      secret_name, automation_uid, decisions)
  SELECT o.run_id, $4, $5, $6, $7, ARRAY(SELECT jsonb_array_elements_text(o.parts)),
      CASE WHEN o.parts ? 'reaction' THEN $8::text[] ELSE '{}' END, ARRAY(SELECT jsonb_array_elements_text(o.launch_keys)),
      o.chat->>'secretName', o.chat->>'automationUid', coalesce((o.chat->>'decisions')::boolean, false)
    FROM unnest($1::uuid[], $2::jsonb[], $3::jsonb[], $9::jsonb[]) AS o (run_id, parts, launch_keys, chat)
    JOIN locked ON locked.id = o.run_id ORDER BY o.run_id
  ON CONFLICT (run_id, provider, lower(repository), target_kind, target_number) DO UPDATE SET
    launch_keys = (a.launch_keys || EXCLUDED.launch_keys)[greatest(1, cardinality(a.launch_keys || EXCLUDED.launch_keys) - ${MAX_LAUNCH_KEYS - 1}):],
    parts = ARRAY(SELECT DISTINCT unnest(a.parts || EXCLUDED.parts)),
    reactions = ARRAY(SELECT DISTINCT unnest(a.reactions || EXCLUDED.reactions)),
    secret_name = EXCLUDED.secret_name, automation_uid = EXCLUDED.automation_uid, decisions = EXCLUDED.decisions,
    changes = a.changes + 1`;

/** Of a thread. */
export const CHAT = `CASE WHEN a.secret_name IS NOT NULL
    THEN json_build_object('secretName', a.secret_name, 'automationUid', a.automation_uid, 'decisions', a.decisions) END AS chat`;

const CLAIM = statement('run-answers.claim')`
  WITH mine AS (
    SELECT id FROM run_answers WHERE changes > answered_changes AND next_attempt_at <= headrace.now()
     ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  UPDATE run_answers a SET attempts = a.attempts + 1, lease = a.lease + 1,
      next_attempt_at = headrace.now() + $2 * interval '1 millisecond'
    FROM mine WHERE a.id = mine.id
  RETURNING a.id, a.run_id AS "runId", a.provider, a.repository, a.target_kind AS kind, a.target_number AS number,
    a.lease, a.attempts, a.changes, ARRAY(SELECT unnest(a.parts) EXCEPT SELECT unnest(a.refused)) AS parts, a.reactions, a.acknowledged,
    ${CHAT},
    a.mark, a.created_at AS "createdAt", a.comment_id AS "commentId", a.comment_hash AS "commentHash",
    a.check_id AS "checkId", a.check_sha AS "checkSha", a.check_hash AS "checkHash"`;

/** `$2`: the lease; without it another process has claimed the row. */
const HELD = 'id = $1 AND lease = $2';
const STORE_COMMENT = statement('run-answers.store-comment')`
  UPDATE run_answers SET comment_id = $3, comment_hash = $4 WHERE ${HELD} RETURNING 1`;
const STORE_CHECK = statement('run-answers.store-check')`
  UPDATE run_answers SET check_id = $3, check_sha = $4, check_hash = $5 WHERE ${HELD} RETURNING 1`;
const STORE_REACTIONS = statement('run-answers.store-reactions')`
  UPDATE run_answers SET reactions = ARRAY(SELECT unnest(reactions) EXCEPT SELECT unnest($3::text[])),
    acknowledged = ARRAY(SELECT DISTINCT unnest(acknowledged || $4::text[]))
   WHERE ${HELD} RETURNING 1`;
const END_REACTIONS = statement('run-answers.end-reactions')`
  UPDATE run_answers SET acknowledged = ARRAY(SELECT unnest(acknowledged) EXCEPT SELECT unnest($3::text[]))
   WHERE ${HELD} RETURNING 1`;
const REFUSE = statement('run-answers.refuse')`
  UPDATE run_answers SET refused = ARRAY(SELECT DISTINCT unnest(refused || $3::text[])) WHERE ${HELD} RETURNING 1`;
/** `$3`: the changes that the answer shows; later ones make the row due again. */
const FINISH = statement('run-answers.finish')`
  UPDATE run_answers SET answered_changes = $3, attempts = 0,
    next_attempt_at = headrace.now() + $4 * interval '1 millisecond' WHERE ${HELD}`;
const RETRY = statement('run-answers.retry')`
  UPDATE run_answers SET attempts = $3, next_attempt_at = headrace.now() + $4 * interval '1 millisecond' WHERE ${HELD}`;

/** Of a follow-up `f` of the run `r`. */
const IS_OF_EVENT = `coalesce(EXISTS (SELECT 1 FROM run_answers a WHERE a.run_id = r.id AND f.launch_key = ANY (a.launch_keys)), false)`;
/** `isAfterEvent`: what the agent last received before is for an event that the answers of the run show; null: the first prompt. */
const READ_RUN = statement('run-answers.read-run')`
  SELECT r.id, r.title, r.source, r.state, r.status_message->>'message' AS "statusMessage", r.team_uid AS "teamUid",
    r.owner_user_uid AS "userUid", r.creator_uid AS "creatorUid", r.environment_id AS "environmentUid", r.config->'repository' AS repository,
    (SELECT json_build_object('id', a.id, 'kind', a.kind, 'title', a.title, 'input', a.input, 'options', a.options,
        'allowsText', a.allow_text, 'expiresAt', a.expires_at) FROM approvals a
      WHERE a.run_id = r.id AND a.state = 'pending' ORDER BY a.requested_at, a.id LIMIT 1) AS approval,
    (SELECT json_build_object('state', a.state, 'option', a.answer->>'option', 'by', a.decided_by_uid) FROM approvals a
      WHERE a.run_id = r.id AND a.decided_by_type = 'chat_user' ORDER BY a.decided_at DESC, a.id LIMIT 1) AS "chatDecision",
    (SELECT coalesce(json_agg(json_build_object('url', a.data->>'url', 'status', a.data->>'status', 'isAfterEvent',
        (SELECT ${IS_OF_EVENT} FROM run_followups f WHERE f.run_id = r.id AND f.consumed_at <= a.created_at ORDER BY f.position DESC LIMIT 1)
      ) ORDER BY a.created_at, a.uid), '[]')
       FROM artifacts a WHERE a.run_id = r.id AND a.artifact_type = 'PULL_REQUEST' AND a.data->>'url' IS NOT NULL) AS "pullRequests",
    ARRAY(SELECT a.locator FROM artifacts a WHERE a.run_id = r.id AND a.own_since IS NOT NULL ORDER BY a.created_at, a.uid) AS "ownPullRequests",
    ARRAY(SELECT a.target_number::text FROM run_answers a
      WHERE a.run_id = r.id AND a.provider = $2 AND lower(a.repository) = lower($3) AND a.target_kind = 'pull_request'
        AND 'check' = ANY (a.parts) AND 'check' <> ALL (a.refused)) AS "answeredNumbers",
    (SELECT ${IS_OF_EVENT}
       FROM run_followups f WHERE f.run_id = r.id ORDER BY f.position DESC LIMIT 1) AS "isLastInputOfEvent",
    r.started_at IS NOT NULL AS "hasStarted",
    r.is_held AND EXISTS (SELECT 1 FROM concurrency_queue q WHERE q.run_id = r.id AND q.start_at > headrace.now()) AS "isDelayed",
    coalesce((SELECT h.last_seq FROM run_heads h WHERE h.run_id = r.id), 1) AS seq
  FROM runs r WHERE r.id = $1`;

const IS_SHOWN_AT = statement('run-answers.is-shown-at')`
  SELECT 1 FROM run_answers
   WHERE run_id = $1 AND provider = $2 AND lower(repository) = lower($3) AND target_kind = $4 AND target_number = $5`;

export interface ReadRun {
  readonly id: string;
  readonly title: string;
  readonly source: RunSourceType;
  /** The last follow-up is for an event that the answers of the run show; null: there is none. */
  readonly isLastInputOfEvent: boolean | null;
  readonly state: RunState;
  readonly statusMessage: string | null;
  readonly teamUid: string | null;
  readonly userUid: string | null;
  readonly creatorUid: string;
  readonly environmentUid: string | null;
  /** That the run names. */
  readonly repository: RunRepository | null;
  readonly approval: PendingApproval | null;
  readonly chatDecision: ChatDecision | null;
  readonly pullRequests: readonly (AnsweredPullRequest & { readonly isAfterEvent: boolean | null })[];
  /** URLs of those that the run has created. */
  readonly ownPullRequests: readonly string[];
  /** The pull requests of the repository of the answer that have a separate answer. */
  readonly answeredNumbers: readonly string[];
  readonly hasStarted: boolean;
  /** It waits for later events, which replace it. */
  readonly isDelayed: boolean;
  /** Position of the last event. */
  readonly seq: string;
}

export interface RecordedRun {
  readonly runId: string;
  readonly parts: readonly AnswerPart[];
  /** Of what the event has started or sent. */
  readonly launchKeys: readonly string[];
  /** Of a thread. */
  readonly chat?: AnswerChat;
}

/** Another process has claimed the answer meanwhile, or the run was deleted. */
export class LeaseLostError extends Error {}

type Held = Pick<ClaimedAnswer, 'id' | 'lease'>;

@Injectable()
export class AnswersStore {
  constructor(private readonly database: Database) {}

  /** One round trip. */
  async record(
    runs: readonly RecordedRun[],
    { provider, repository, kind, number }: AnswerTarget,
    reaction: ReactionSubject | null,
  ): Promise<void> {
    await this.database.query(RECORD, [
      runs.map(({ runId }) => runId),
      runs.map(({ parts }) => JSON.stringify(parts)),
      runs.map(({ launchKeys }) => JSON.stringify(launchKeys)),
      provider,
      repository,
      kind,
      number,
      reaction === null ? [] : [reaction],
      runs.map(({ chat }) => (chat ? JSON.stringify(chat) : null)),
    ]);
  }

  /** A lease of `leaseMs` for each. */
  claim(limit: number, leaseMs: number): Promise<ClaimedAnswer[]> {
    return this.database.query(CLAIM, [limit, leaseMs]);
  }

  async readRun({
    runId,
    provider,
    repository,
  }: Pick<ClaimedAnswer, 'runId' | 'provider' | 'repository'>): Promise<ReadRun | null> {
    const [run] = await this.database.query<ReadRun>(READ_RUN, [runId, provider, repository]);
    if (!run) return null;
    const { approval } = run;
    return approval === null ? run : { ...run, approval: { ...approval, expiresAt: new Date(approval.expiresAt) } };
  }

  /** Whether the run is shown there. One round trip. */
  async isShownAt(runId: string, { provider, repository, kind, number }: AnswerTarget): Promise<boolean> {
    return (await this.database.query(IS_SHOWN_AT, [runId, provider, repository, kind, number])).length > 0;
  }

  /** This method and the next four reject with a LeaseLostError. */
  async storeComment(held: Held, id: string, hash: string): Promise<void> {
    await this.write(STORE_COMMENT, held, [id, hash]);
  }

  async storeCheck(held: Held, id: string | null, sha: string, hash: string): Promise<void> {
    await this.write(STORE_CHECK, held, [id, sha, hash]);
  }

  /** `acknowledged`: those that get another reaction when the run has ended. */
  async storeReactions(
    held: Held,
    added: readonly ReactionSubject[],
    acknowledged: readonly ReactionSubject[],
  ): Promise<void> {
    await this.write(STORE_REACTIONS, held, [added, acknowledged]);
  }

  async endReactions(held: Held, ended: readonly ReactionSubject[]): Promise<void> {
    await this.write(END_REACTIONS, held, [ended]);
  }

  /** From now on these parts are not written. */
  async refuse(tx: Queryable, held: Held, parts: readonly AnswerPart[]): Promise<void> {
    await this.write(REFUSE, held, [parts], tx);
  }

  /** Without effect when another process has claimed the answer. */
  async finish({ id, lease }: Held, changes: string, pauseMs: number): Promise<void> {
    await this.database.query(FINISH, [id, lease, changes, pauseMs]);
  }

  /** Without effect when another process has claimed the answer. */
  async retry({ id, lease }: Held, attempts: number, waitMs: number): Promise<void> {
    await this.database.query(RETRY, [id, lease, attempts, waitMs]);
  }

  private async write(
    text: Parameters<Database['query']>[0],
    { id, lease }: Held,
    values: readonly unknown[],
    queryable: Queryable = this.database,
  ): Promise<void> {
    if ((await queryable.query(text, [id, lease, ...values])).length === 0) throw new LeaseLostError();
  }
}
