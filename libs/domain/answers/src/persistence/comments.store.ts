import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement, writtenRow } from '#platform/persistence';
import type { AnswerChat, AnswerTarget } from '../domain/answer.js';
import { CHAT, LeaseLostError } from './answers.store.js';

/** Written or refused: the payload is the id of the comment. */
export const COMMENTS_CHANNEL = 'headrace_run_comments';

/** The issue, pull request or thread whose event has started a run, if its comments are not switched off. */
export interface CommentTarget extends AnswerTarget {
  readonly answerId: string;
  readonly chat: AnswerChat | null;
}

export interface RequestedComment {
  readonly id: string;
  readonly state: 'pending' | 'written' | 'refused';
  readonly problem: string | null;
}

/** A row that this process has leased. */
export interface ClaimedComment extends AnswerTarget {
  readonly id: string;
  readonly runId: string;
  readonly lease: string;
  /** Number of this attempt, from 1. */
  readonly attempts: number;
  readonly chat: AnswerChat | null;
  readonly body: string;
  readonly mark: string;
  readonly createdAt: Date;
}

const TARGET = `a.provider, a.repository, a.target_kind AS kind, a.target_number AS number, ${CHAT}`;
const FIND_TARGET = statement('run-comments.find-target')`
  SELECT a.id AS "answerId", ${TARGET} FROM run_answers a
   WHERE a.run_id = $1 AND 'comment' = ANY (a.parts) AND 'comment' <> ALL (a.refused) ORDER BY a.id LIMIT 1`;
const SHOWN = 'id, state, problem';
const FIND = statement('run-comments.find')`SELECT ${SHOWN} FROM run_comments WHERE run_id = $1 AND key = $2`;
const READ = statement('run-comments.read')`SELECT ${SHOWN} FROM run_comments WHERE id = $1`;
const COUNT = statement('run-comments.count')`SELECT count(*)::float8 AS count FROM run_comments WHERE run_id = $1`;
const INSERT = statement('run-comments.insert')`
  INSERT INTO run_comments (run_id, answer_id, key, body) VALUES ($1, $2, $3, $4) RETURNING ${SHOWN}`;

const CLAIM = statement('run-comments.claim')`
  WITH mine AS (
    SELECT id FROM run_comments WHERE state = 'pending' AND next_attempt_at <= headrace.now()
     ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  UPDATE run_comments c SET attempts = c.attempts + 1, lease = c.lease + 1,
      next_attempt_at = headrace.now() + $2 * interval '1 millisecond'
    FROM mine, run_answers a WHERE c.id = mine.id AND a.id = c.answer_id
  RETURNING c.id, c.run_id AS "runId", ${TARGET}, c.lease, c.attempts, c.body, c.mark, c.created_at AS "createdAt"`;
/** `$2`: the lease; without it another process has claimed the row. */
const HELD = `id = $1 AND lease = $2 AND state = 'pending'`;
const ending = (name: string, state: 'written' | 'refused', column: 'comment_id' | 'problem') => statement(name)`
  WITH ended AS (UPDATE run_comments SET state = '${state}', ${column} = $3 WHERE ${HELD} RETURNING id)
  SELECT pg_notify('${COMMENTS_CHANNEL}', id::text) FROM ended`;
const WRITTEN = ending('run-comments.written', 'written', 'comment_id');
const REFUSED = ending('run-comments.refused', 'refused', 'problem');
const RETRY = statement('run-comments.retry')`
  UPDATE run_comments SET attempts = $3, next_attempt_at = headrace.now() + $4 * interval '1 millisecond' WHERE ${HELD}`;

type Held = Pick<ClaimedComment, 'id' | 'lease'>;

@Injectable()
export class CommentsStore {
  constructor(private readonly database: Database) {}

  async findTarget(runId: string, queryable: Queryable = this.database): Promise<CommentTarget | null> {
    const [target] = await queryable.query<CommentTarget>(FIND_TARGET, [runId]);
    return target ?? null;
  }

  async find(tx: Queryable, runId: string, key: string): Promise<RequestedComment | null> {
    const [comment] = await tx.query<RequestedComment>(FIND, [runId, key]);
    return comment ?? null;
  }

  /** Null: it was deleted with its run. */
  async read(id: string): Promise<RequestedComment | null> {
    const [comment] = await this.database.query<RequestedComment>(READ, [id]);
    return comment ?? null;
  }

  async count(tx: Queryable, runId: string): Promise<number> {
    return writtenRow(await tx.query<{ count: number }>(COUNT, [runId])).count;
  }

  async insert(tx: Queryable, runId: string, answerId: string, key: string, body: string): Promise<RequestedComment> {
    return writtenRow(await tx.query<RequestedComment>(INSERT, [runId, answerId, key, body]));
  }

  /** A lease of `leaseMs` for each. */
  claim(limit: number, leaseMs: number): Promise<ClaimedComment[]> {
    return this.database.query(CLAIM, [limit, leaseMs]);
  }

  /** Rejects with a LeaseLostError, like {@link refused}. */
  async written(held: Held, commentId: string): Promise<void> {
    await this.end(this.database, WRITTEN, held, commentId);
  }

  async refused(tx: Queryable, held: Held, problem: string): Promise<void> {
    await this.end(tx, REFUSED, held, problem);
  }

  /** Without effect when another process has claimed the comment. */
  async retry({ id, lease }: Held, attempts: number, waitMs: number): Promise<void> {
    await this.database.query(RETRY, [id, lease, attempts, waitMs]);
  }

  private async end(
    queryable: Queryable,
    text: Parameters<Database['query']>[0],
    { id, lease }: Held,
    value: string,
  ): Promise<void> {
    if ((await queryable.query(text, [id, lease, value])).length === 0) throw new LeaseLostError();
  }
}
