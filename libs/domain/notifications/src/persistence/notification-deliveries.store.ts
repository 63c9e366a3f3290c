import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import type {
  AttemptRecord,
  ClaimedNotification,
  StoredNotification,
  NotificationStatus,
} from '../domain/notification-delivery.js';
import { ANY_CHANGE, type NotificationEvent, TEST_TYPE } from '../domain/notification-webhook.js';

const COLUMNS = `id, message_id AS "messageId", run_id AS "runId", type, status, attempts, log,
  next_attempt_at AS "nextAttemptAt", created_at AS "createdAt", finished_at AS "finishedAt"`;
/** The fair shares of the webhooks are computed among this number of due messages. */
const WINDOW = 1000;

const CLAIM = statement('notifications.claim')`
  WITH oldest AS (
  SELECT id, webhook_uid, next_attempt_at FROM notification_deliveries
   WHERE status = 'pending' AND next_attempt_at <= headrace.now() AND webhook_uid <> ALL($3::text[])
   ORDER BY next_attempt_at LIMIT ${WINDOW}
), fair AS (
  SELECT id, next_attempt_at, row_number() OVER (PARTITION BY webhook_uid ORDER BY next_attempt_at, id) AS place FROM oldest
), wanted AS (
  SELECT id FROM fair WHERE place <= $2 ORDER BY next_attempt_at LIMIT $1
), mine AS (
  SELECT d.id FROM notification_deliveries d
   WHERE d.id IN (SELECT id FROM wanted) AND d.status = 'pending' AND d.next_attempt_at <= headrace.now()
   FOR UPDATE SKIP LOCKED
)
UPDATE notification_deliveries d
   SET attempts = d.attempts + 1, next_attempt_at = headrace.now() + $4 * interval '1 millisecond'
  FROM mine, notification_webhooks w WHERE d.id = mine.id AND w.uid = d.webhook_uid
RETURNING d.id, d.message_id AS "messageId", d.attempts AS attempt, d.type, d.data, d.created_at AS "createdAt",
  d.run_id AS "runId", d.run_seq AS "runSeq", d.webhook_uid AS "webhookUid", w.url, w.format, w.enabled,
  w.team_uid AS "teamUid", w.decisions, w.decisions_revision AS "decisionsRevision",
  array_remove(ARRAY[w.secret, CASE WHEN w.previous_secret_until > headrace.now() THEN w.previous_secret END], NULL) AS secrets`;

const FINISH = statement('notifications.finish')`
  UPDATE notification_deliveries SET status = $3, log = log || $4::jsonb,
    next_attempt_at = CASE WHEN $3 = 'pending' THEN headrace.now() + $5 * interval '1 millisecond' END,
    finished_at = CASE WHEN $3 <> 'pending' THEN headrace.now() END
  WHERE id = $1 AND attempts = $2 AND status IN ('pending','dropped') RETURNING 1`;

export interface RunNotice {
  readonly type: NotificationEvent;
  /** The state after this change; the run may have another one at the end of the transaction. */
  readonly state: string;
  /** The permission request that the run waits for. */
  readonly approval?: object;
}

const time = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * One message for each subscribed webhook of the team. A webhook that subscribes to the event by name gets it under that
 * name, and not a second time as `run.state_changed`. KEY SHARE omits a webhook that is being deleted; the foreign key
 * alone would fail the transaction, and with it the state change of the run.
 */
const INSERT = statement('notifications.insert')`
  INSERT INTO notification_deliveries (webhook_uid, run_id, type, data, next_attempt_at, run_seq)
SELECT w.uid, r.id, CASE WHEN notice.type = ANY(w.events) THEN notice.type ELSE '${ANY_CHANGE}' END,
  jsonb_strip_nulls(jsonb_build_object(
    'run_id', r.id, 'state', notice.state, 'title', r.title,
    'status_message', CASE WHEN r.state = notice.state THEN r.status_message END,
    'source', r.source, 'created_at', ${time('r.created_at')}, 'updated_at', ${time('r.updated_at')},
    'started_at', ${time('r.started_at')}, 'conversation_id', r.conversation_id, 'parent_run_id', r.parent_run_id,
    'trigger_url', r.trigger_url, 'metadata', r.metadata, 'session_link', $4::text || r.id,
    'creator', jsonb_build_object('type', r.creator_type, 'uid', r.creator_uid),
    'executor', jsonb_build_object('type', r.executor_type, 'uid', r.executor_uid),
    'approval', notice.approval,
    'scope', jsonb_build_object('type', 'Team', 'uid', r.team_uid))),
  headrace.now(), (SELECT max(e.seq) FROM run_events e WHERE e.run_id = r.id)
 FROM runs r
 JOIN notification_webhooks w ON w.team_uid = r.team_uid
 JOIN unnest($2::text[], $3::text[], $5::jsonb[]) WITH ORDINALITY AS notice (type, state, approval, place)
   ON w.events && ARRAY[notice.type, '${ANY_CHANGE}']
WHERE r.id = $1 AND w.enabled AND (w.filter IS NULL OR (
    (NOT w.filter ?| ARRAY['schedule_ids', 'automation_ids']
      OR w.filter->'schedule_ids' ? (r.schedule->>'schedule_id') OR w.filter->'automation_ids' ? (r.metadata->>'automation_id'))
    AND (NOT w.filter ? 'artifact_types'
      OR EXISTS (SELECT 1 FROM artifacts a WHERE a.run_id = r.id AND w.filter->'artifact_types' ? a.artifact_type))))
ORDER BY notice.place
FOR KEY SHARE OF w
RETURNING 1`;

@Injectable()
export class NotificationDeliveriesStore {
  constructor(private readonly database: Database) {}

  /** Returns the number of messages. `pagesUrl`: the base URL of the pages of runs, with a trailing slash. */
  async insert(tx: Queryable, runId: string, notices: readonly RunNotice[], pagesUrl: string): Promise<number> {
    const rows = await tx.query(INSERT, [
      runId,
      notices.map(({ type }) => type),
      notices.map(({ state }) => state),
      pagesUrl,
      notices.map(({ approval }) => (approval === undefined ? null : JSON.stringify(approval))),
    ]);
    return rows.length;
  }

  /** Newest first; `before` is the id of the last delivery of the previous page. */
  list(webhookUid: string, before: string | null, limit: number): Promise<StoredNotification[]> {
    return this.database.query(
      `SELECT ${COLUMNS} FROM notification_deliveries
       WHERE webhook_uid = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
      [webhookUid, before, limit],
    );
  }

  /** Null when there is no such webhook, or a test of it is pending. */
  async insertTest(webhookUid: string, data: object): Promise<StoredNotification | null> {
    const [row] = await this.database.query<StoredNotification>(
      `INSERT INTO notification_deliveries (webhook_uid, type, data, next_attempt_at)
       SELECT uid, '${TEST_TYPE}', $2::jsonb, headrace.now() FROM notification_webhooks WHERE uid = $1 FOR KEY SHARE
       ON CONFLICT (webhook_uid) WHERE status = 'pending' AND type = '${TEST_TYPE}' DO NOTHING
       RETURNING ${COLUMNS}`,
      [webhookUid, JSON.stringify(data)],
    );
    return row ?? null;
  }

  /** The claim is a lease of `leaseMs`: without a result by then, another process claims the message. */
  claim(limit: number, share: number, busy: readonly string[], leaseMs: number): Promise<ClaimedNotification[]> {
    return this.database.query(CLAIM, [limit, share, busy, leaseMs]);
  }

  /** Records an attempt, also when the message was dropped meanwhile. False when it was claimed again or deleted. */
  async finish(
    tx: Queryable,
    { id, attempt }: Pick<ClaimedNotification, 'id' | 'attempt'>,
    outcome: { readonly status: NotificationStatus; readonly waitMs?: number; readonly record?: AttemptRecord },
  ): Promise<boolean> {
    const records = outcome.record ? [outcome.record] : [];
    const rows = await tx.query(FINISH, [id, attempt, outcome.status, JSON.stringify(records), outcome.waitMs ?? 0]);
    return rows.length > 0;
  }

  /** For a webhook that was disabled. Tests are kept: they show whether the webhook works. */
  async dropPending(tx: Queryable, webhookUid: string): Promise<void> {
    await tx.query(
      `UPDATE notification_deliveries SET status = 'dropped', next_attempt_at = NULL, finished_at = headrace.now()
       WHERE webhook_uid = $1 AND status = 'pending' AND type <> '${TEST_TYPE}'`,
      [webhookUid],
    );
  }

  /** Deletes at most `limit` deliveries that finished before this time; returns their number. */
  async prune(olderThanMs: number, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM notification_deliveries WHERE id IN (
         SELECT id FROM notification_deliveries
          WHERE finished_at < headrace.now() - $1 * interval '1 millisecond' ORDER BY finished_at LIMIT $2)
       RETURNING 1`,
      [olderThanMs, limit],
    );
    return rows.length;
  }
}
