import type { AuthMode, ManagedWebhook, Webhook, WebhookSource } from '../domain/webhook.js';
import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';

/** A webhook with the key of its row. */
export type StoredWebhook = Webhook & {
  /** A bigint, as text. */
  readonly id: string;
};

export interface WebhookRow {
  id: string;
  uid: string;
  factory_uid: string;
  team_uid: string;
  name: string;
  auth_mode: AuthMode;
  signature_scheme: string | null;
  secret_name: string;
  delivery_id_header: string | null;
  enabled: boolean;
  secret_pending: boolean;
  source: WebhookSource;
  created_at: Date;
  updated_at: Date;
}

/** The columns of {@link toWebhook}; none is encrypted. */
export const WEBHOOK_COLUMNS = `id, uid, factory_uid, team_uid, name, auth_mode, signature_scheme, secret_name,
  delivery_id_header, enabled, secret_pending, source, created_at, updated_at`;

export const toWebhook = (row: WebhookRow): StoredWebhook => ({
  id: row.id,
  uid: row.uid,
  factoryUid: row.factory_uid,
  teamUid: row.team_uid,
  name: row.name,
  authMode: row.auth_mode,
  signatureScheme: row.signature_scheme,
  secretName: row.secret_name,
  deliveryIdHeader: row.delivery_id_header,
  enabled: row.enabled,
  secretPending: row.secret_pending,
  source: row.source,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

interface Row extends WebhookRow {
  secret_owned: boolean;
  has_secret: boolean;
  sealed_captured_secret: string | null;
}

export interface NewWebhook {
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly name: string;
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
  readonly enablesWithSecret: boolean;
  readonly source: WebhookSource;
  readonly secretName: string;
  readonly secretOwned: boolean;
  readonly secretPending: boolean;
  /** The encrypted copy and the version of the managed secret; null while it has no secret. */
  readonly copy: { readonly sealed: string; readonly version: number } | null;
}

export interface WebhookFields {
  readonly name: string;
  readonly enabled: boolean;
  /** False: it stays disabled when its missing secret is supplied. */
  readonly mayEnable: boolean;
  readonly deliveryIdHeader: string | null;
}

const COLUMNS = `${WEBHOOK_COLUMNS}, secret_owned, sealed_secret IS NOT NULL AS has_secret, sealed_captured_secret`;

/**
 * Webhooks as they are managed; deleted ones are not found. The quota is a row for each factory: a transaction that creates
 * or deletes a webhook locks it first, so that the limit is exact.
 */
@Injectable()
export class WebhooksStore {
  constructor(private readonly database: Database) {}

  /** By name. */
  async list(factoryUid: string): Promise<ManagedWebhook[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL ORDER BY lower(name), id`,
      [factoryUid],
    );
    return rows.map(toManaged);
  }

  async find(factoryUid: string, uid: string, queryable: Queryable = this.database): Promise<ManagedWebhook | null> {
    return first(await queryable.query<Row>(findSql(''), [factoryUid, uid]));
  }

  /** In any factory. `sealedSecret`: null while it has none. */
  async findWithSecret(uid: string): Promise<{ webhook: ManagedWebhook; sealedSecret: string | null } | null> {
    const [row] = await this.database.query<Row & { sealed_secret: string | null }>(
      `SELECT ${COLUMNS}, sealed_secret FROM webhooks WHERE uid = $1 AND deleted_at IS NULL`,
      [uid],
    );
    return row ? { webhook: toManaged(row), sealedSecret: row.sealed_secret } : null;
  }

  /** Locks it for this transaction; deliveries do not wait. */
  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    return first(await tx.query<Row>(findSql('FOR NO KEY UPDATE'), [factoryUid, uid]));
  }

  /** Also inserts the row of its rate, which every delivery updates. */
  async insert(tx: Queryable, webhook: NewWebhook): Promise<ManagedWebhook> {
    const rows = await tx.query<Row>(
      `WITH made AS (
         INSERT INTO webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme, delivery_id_header, enabled,
           enables_with_secret, source, secret_name, secret_owned, secret_pending, sealed_secret, secret_version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING *
       ), rate AS (INSERT INTO webhook_rates (webhook_id) SELECT id FROM made)
       SELECT ${COLUMNS} FROM made`,
      [
        ...[webhook.uid, webhook.factoryUid, webhook.teamUid, webhook.name, webhook.authMode, webhook.signatureScheme],
        ...[webhook.deliveryIdHeader, webhook.enabled, webhook.enablesWithSecret, webhook.source, webhook.secretName],
        ...[webhook.secretOwned, webhook.secretPending, webhook.copy?.sealed ?? null, webhook.copy?.version ?? null],
      ],
    );
    return only(rows);
  }

  /** Increments `version` only when a field has changed that deliveries depend on. */
  async update(
    tx: Queryable,
    id: string,
    { name, enabled, mayEnable, deliveryIdHeader }: WebhookFields,
  ): Promise<ManagedWebhook> {
    const rows = await tx.query<Row>(
      `UPDATE webhooks SET name = $2, enabled = $3, delivery_id_header = $4,
         version = version + CASE WHEN enabled <> $3 OR delivery_id_header IS DISTINCT FROM $4 THEN 1 ELSE 0 END,
         enables_with_secret = enables_with_secret AND $5, updated_at = headrace.now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, name, enabled, deliveryIdHeader, mayEnable],
    );
    return only(rows);
  }

  /** Keeps the delivery log and deletes the secrets. Null when there is none. */
  async markDeleted(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    const rows = await tx.query<Row>(
      `UPDATE webhooks SET deleted_at = headrace.now(), updated_at = headrace.now(), version = version + 1, enabled = false,
         enables_with_secret = false, secret_pending = false, sealed_secret = NULL, secret_version = NULL,
         sealed_captured_secret = NULL
       WHERE factory_uid = $1 AND uid = $2 AND deleted_at IS NULL RETURNING ${COLUMNS}`,
      [factoryUid, uid],
    );
    return first(rows);
  }

  /** False when the factory has `limit` webhooks. */
  async reserveQuota(tx: Queryable, factoryUid: string, limit: number): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO webhook_counts AS c (factory_uid, webhooks) VALUES ($1, 1)
       ON CONFLICT (factory_uid) DO UPDATE SET webhooks = c.webhooks + 1 WHERE c.webhooks < $2 RETURNING 1`,
      [factoryUid, limit],
    );
    return rows.length > 0;
  }

  async lockQuota(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query('SELECT 1 FROM webhook_counts WHERE factory_uid = $1 FOR UPDATE', [factoryUid]);
  }

  async releaseQuota(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query('UPDATE webhook_counts SET webhooks = webhooks - 1 WHERE factory_uid = $1', [factoryUid]);
  }
}

const findSql = (lock: string): string =>
  `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND uid = $2 AND deleted_at IS NULL ${lock}`;

const first = ([row]: readonly Row[]): ManagedWebhook | null => (row ? toManaged(row) : null);

function only(rows: readonly Row[]): ManagedWebhook {
  const webhook = first(rows);
  if (!webhook) throw new Error('A statement with RETURNING returned no row.');
  return webhook;
}

const toManaged = (row: Row): ManagedWebhook => ({
  ...toWebhook(row),
  hasSecret: row.has_secret,
  secretOwned: row.secret_owned,
  sealedCapturedSecret: row.sealed_captured_secret,
});
