import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#platform/persistence';
import type {
  AttemptRecord,
  ClaimedNotification,
  StoredNotification,
  NotificationStatus,
} from '../domain/notification-delivery.js';
import { TEST_TYPE } from '../domain/notification-webhook.js';

const COLUMNS = `id, message_id AS "messageId", run_id AS "runId", type, status, attempts, log,
  next_attempt_at AS "nextAttemptAt", created_at AS "createdAt", finished_at AS "finishedAt"`;
/** The fair shares of the webhooks are computed among this number of due messages. */
const WINDOW = 1000;

const CLAIM: Statement = {
  name: 'notifications.claim',
  text: `WITH oldest AS (
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
  d.webhook_uid AS "webhookUid", w.url, w.enabled,
  array_remove(ARRAY[w.secret, CASE WHEN w.previous_secret_until > headrace.now() THEN w.previous_secret END], NULL) AS secrets`,
};

const FINISH: Statement = {
  name: 'notifications.finish',
  text: `UPDATE notification_deliveries SET status = $3, log = log || $4::jsonb,
    next_attempt_at = CASE WHEN $3 = 'pending' THEN headrace.now() + $5 * interval '1 millisecond' END,
    finished_at = CASE WHEN $3 <> 'pending' THEN headrace.now() END
  WHERE id = $1 AND attempts = $2 AND status IN ('pending','dropped') RETURNING 1`,
};

@Injectable()
export class NotificationDeliveriesStore {
  constructor(private readonly database: Database) {}

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

  /**
   * Claims at most `limit` due messages, at most `share` of one webhook and none of the `busy` ones. The claim is a lease
   * of `leaseMs`: without a result by then, another process claims the message.
   */
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
