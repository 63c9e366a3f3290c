import type { AuthMode, ManagedWebhook, WebhookSource } from '../domain/webhook.js';
import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';

/** A webhook of a definition, and the version of the managed secret of which it has a copy. */
export interface CopiedWebhook extends ManagedWebhook {
  readonly secretVersion: number | null;
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

export interface DefinedWebhookFields {
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
  readonly secretName: string;
  readonly copy: { readonly sealed: string; readonly version: number };
}

const COLUMNS = `id, uid, factory_uid AS "factoryUid", team_uid AS "teamUid", name, auth_mode AS "authMode",
  signature_scheme AS "signatureScheme", secret_name AS "secretName", delivery_id_header AS "deliveryIdHeader", enabled,
  secret_pending AS "secretPending", source, created_at AS "createdAt", updated_at AS "updatedAt",
  secret_owned AS "secretOwned", sealed_secret IS NOT NULL AS "hasSecret",
  sealed_captured_secret AS "sealedCapturedSecret", secret_version AS "secretVersion"`;

/**
 * Webhooks as they are managed; deleted ones are not found. The quota is a row for each factory: a transaction that creates
 * or deletes a webhook locks it first, so that the limit is exact.
 */
@Injectable()
export class WebhooksStore {
  constructor(private readonly database: Database) {}

  /** By name. */
  async list(factoryUid: string): Promise<ManagedWebhook[]> {
    const rows = await this.database.query<CopiedWebhook>(
      `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL ORDER BY lower(name), id`,
      [factoryUid],
    );
    return rows;
  }

  async find(factoryUid: string, uid: string, queryable: Queryable = this.database): Promise<ManagedWebhook | null> {
    return first(await queryable.query<CopiedWebhook>(findSql(''), [factoryUid, uid]));
  }

  /** In any factory. `sealedSecret`: null while it has none. */
  async findWithSecret(uid: string): Promise<{ webhook: ManagedWebhook; sealedSecret: string | null } | null> {
    const [row] = await this.database.query<CopiedWebhook & { sealedSecret: string | null }>(
      `SELECT ${COLUMNS}, sealed_secret AS "sealedSecret" FROM webhooks WHERE uid = $1 AND deleted_at IS NULL`,
      [uid],
    );
    if (!row) return null;
    const { sealedSecret, ...webhook } = row;
    return { webhook, sealedSecret };
  }

  /** Locks it for this transaction; deliveries do not wait. */
  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    return first(await tx.query<CopiedWebhook>(findSql('FOR NO KEY UPDATE'), [factoryUid, uid]));
  }

  /** Also inserts the row of its rate, which every delivery updates. */
  async insert(tx: Queryable, webhook: NewWebhook): Promise<ManagedWebhook> {
    const rows = await tx.query<CopiedWebhook>(
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
    const rows = await tx.query<CopiedWebhook>(
      `UPDATE webhooks SET name = $2, enabled = $3, delivery_id_header = $4,
         version = version + CASE WHEN enabled <> $3 OR delivery_id_header IS DISTINCT FROM $4 THEN 1 ELSE 0 END,
         enables_with_secret = enables_with_secret AND $5, updated_at = headrace.now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, name, enabled, deliveryIdHeader, mayEnable],
    );
    return only(rows);
  }

  /** From the API and from definitions, by name. */
  listForDefinition(tx: Queryable, factoryUid: string): Promise<CopiedWebhook[]> {
    return tx.query(`SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL ORDER BY name, id`, [
      factoryUid,
    ]);
  }

  /** Locks the webhooks of the definition until the transaction ends; deliveries do not wait. */
  async lockAllDefined(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(
      `SELECT 1 FROM webhooks WHERE factory_uid = $1 AND source = 'definition' AND deleted_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`,
      [factoryUid],
    );
  }

  /** Null for a webhook that is not from the definition. */
  async lockDefined(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    return first(
      await tx.query<CopiedWebhook>(findSql(`AND source = 'definition' FOR NO KEY UPDATE`), [factoryUid, uid]),
    );
  }

  /**
   * Increments `version` only when a field has changed that deliveries depend on. A copy of the same secret and version is
   * kept: encrypted again it would look like a change.
   */
  async replaceDefined(tx: Queryable, id: string, fields: DefinedWebhookFields): Promise<void> {
    await tx.query(
      `UPDATE webhooks AS w SET auth_mode = $2, signature_scheme = $3, delivery_id_header = $4, enabled = $5,
         secret_name = $6, secret_version = $8, sealed_secret = CASE WHEN is_same THEN sealed_secret ELSE $7 END,
         enables_with_secret = false, secret_pending = false, sealed_captured_secret = NULL,
         version = version + CASE WHEN is_same AND auth_mode = $2 AND signature_scheme IS NOT DISTINCT FROM $3
           AND delivery_id_header IS NOT DISTINCT FROM $4 AND enabled = $5 THEN 0 ELSE 1 END,
         updated_at = headrace.now()
       FROM (SELECT id AS webhook_id, secret_name = $6 AND secret_version IS NOT DISTINCT FROM $8 AS is_same
             FROM webhooks WHERE id = $1) AS copy
       WHERE w.id = copy.webhook_id`,
      [
        ...[id, fields.authMode, fields.signatureScheme, fields.deliveryIdHeader, fields.enabled, fields.secretName],
        ...[fields.copy.sealed, fields.copy.version],
      ],
    );
  }

  /** Keeps the delivery log and deletes the secrets. Null when there is none. */
  async markDeleted(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    const rows = await tx.query<CopiedWebhook>(
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

const first = ([row]: readonly CopiedWebhook[]): CopiedWebhook | null => row ?? null;

function only([row]: readonly CopiedWebhook[]): ManagedWebhook {
  if (!row) throw new Error('A statement with RETURNING returned no row.');
  return row;
}
