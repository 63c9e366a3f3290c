import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { NotificationWebhook, NotificationWebhookFields } from '../domain/notification-webhook.js';

const COLUMNS = `uid, team_uid AS "teamUid", name, url, format, events, filter, enabled, decisions,
  decisions_revision AS "decisionsRevision", disabled_reason AS "disabledReason",
  created_at AS "createdAt", updated_at AS "updatedAt"`;
const MAX_LISTED = 1000;
const FIND = `SELECT ${COLUMNS} FROM notification_webhooks WHERE uid = $1`;

@Injectable()
export class NotificationWebhooksStore {
  constructor(private readonly database: Database) {}

  async find(uid: string): Promise<NotificationWebhook | null> {
    const [row] = await this.database.query<NotificationWebhook>(FIND, [uid]);
    return row ?? null;
  }

  listFor(teamUids: readonly string[]): Promise<NotificationWebhook[]> {
    return this.database.query(
      `SELECT ${COLUMNS} FROM notification_webhooks WHERE team_uid = ANY($1::text[])
       ORDER BY lower(name), uid LIMIT ${MAX_LISTED}`,
      [teamUids],
    );
  }

  async insert(
    tx: Queryable,
    uid: string,
    teamUid: string,
    { name, url, format, events, filter, enabled, decisions }: NotificationWebhookFields,
    sealedSecret: string,
  ): Promise<NotificationWebhook> {
    const rows = await tx.query<NotificationWebhook>(
      `INSERT INTO notification_webhooks (uid, team_uid, name, url, events, enabled, secret, format, filter, decisions)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${COLUMNS}`,
      [uid, teamUid, name, url, events, enabled, sealedSecret, format, filter && JSON.stringify(filter), decisions],
    );
    return writtenRow(rows);
  }

  /** Locks it for this transaction; writers of messages do not wait. */
  async lock(tx: Queryable, uid: string): Promise<NotificationWebhook | null> {
    const [row] = await tx.query<NotificationWebhook>(`${FIND} FOR NO KEY UPDATE`, [uid]);
    return row ?? null;
  }

  /** `forgetFailures`: the URL has changed, or the webhook was enabled. */
  async update(
    tx: Queryable,
    uid: string,
    { name, url, format, events, filter, enabled, decisions }: NotificationWebhookFields,
    forgetFailures: boolean,
  ): Promise<NotificationWebhook> {
    const rows = await tx.query<NotificationWebhook>(
      `UPDATE notification_webhooks SET name = $2, url = $3, events = $4, enabled = $5, format = $7, filter = $8, decisions = $9,
         decisions_revision = decisions_revision + CASE WHEN url <> $3 OR enabled <> $5 OR decisions <> $9 THEN 1 ELSE 0 END,
         disabled_reason = CASE WHEN $5 THEN NULL ELSE disabled_reason END,
         failures = CASE WHEN $6 THEN 0 ELSE failures END,
         failing_since = CASE WHEN $6 THEN NULL ELSE failing_since END,
         updated_at = headrace.now()
       WHERE uid = $1 RETURNING ${COLUMNS}`,
      [uid, name, url, events, enabled, forgetFailures, format, filter && JSON.stringify(filter), decisions],
    );
    return writtenRow(rows);
  }

  /** The present secret stays good for a while; signed decisions of earlier messages do not. Null when there is no such webhook. */
  async replaceSecret(uid: string, sealedSecret: string, oldForMs: number): Promise<NotificationWebhook | null> {
    const [row] = await this.database.query<NotificationWebhook>(
      `UPDATE notification_webhooks SET secret = $2, previous_secret = secret,
         previous_secret_until = headrace.now() + $3 * interval '1 millisecond',
         decisions_revision = decisions_revision + 1, updated_at = headrace.now()
       WHERE uid = $1 RETURNING ${COLUMNS}`,
      [uid, sealedSecret, oldForMs],
    );
    return row ?? null;
  }

  /** Whether signed decisions of this revision are accepted. The webhook does not change before the end of the transaction. */
  async lockDecisions(tx: Queryable, uid: string, revision: number): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 FROM notification_webhooks WHERE uid = $1 
         AND enabled AND decisions AND format <> 'json' AND decisions_revision = $2 FOR SHARE`,
      [uid, revision],
    );
    return rows.length > 0;
  }

  async delete(uid: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM notification_webhooks WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }

  async countSuccess(tx: Queryable, uid: string): Promise<void> {
    await tx.query(
      'UPDATE notification_webhooks SET failures = 0, failing_since = NULL WHERE uid = $1 AND failures > 0',
      [uid],
    );
  }

  /** The number of consecutive failures, and the milliseconds since the first of them. */
  async countFailure(tx: Queryable, uid: string): Promise<{ failures: number; failingMs: number }> {
    const rows = await tx.query<{ failures: number; failingMs: number }>(
      `UPDATE notification_webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, headrace.now())
       WHERE uid = $1
       RETURNING failures, extract(epoch FROM headrace.now() - failing_since)::float8 * 1000 AS "failingMs"`,
      [uid],
    );
    return writtenRow(rows);
  }

  async disable(tx: Queryable, uid: string, reason: string): Promise<void> {
    await tx.query(
      `UPDATE notification_webhooks SET enabled = false, disabled_reason = $2, updated_at = headrace.now() WHERE uid = $1`,
      [uid, reason],
    );
  }
}
