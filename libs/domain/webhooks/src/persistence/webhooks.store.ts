import { Injectable } from '@nestjs/common';
import { FactoryQuota } from '#domain/factories';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { SecretCopy } from '../application/webhook-secrets.js';
import { type ManagedWebhook, MAX_WEBHOOKS_PER_FACTORY, type WebhookSettings } from '../domain/webhook.js';

export interface NewWebhook
  extends
    WebhookSettings,
    Pick<ManagedWebhook, 'uid' | 'factoryUid' | 'teamUid' | 'source' | 'secretOwned' | 'secretPending'> {
  readonly enablesWithSecret: boolean;
  /** Null while it has no secret. */
  readonly copy: SecretCopy | null;
}

export interface WebhookFields extends Pick<WebhookSettings, 'name' | 'enabled' | 'deliveryIdHeader'> {
  /** False: it stays disabled when its missing secret is supplied. */
  readonly mayEnable: boolean;
}

const COLUMNS = `id, uid, factory_uid AS "factoryUid", team_uid AS "teamUid", name, auth_mode AS "authMode",
  signature_scheme AS "signatureScheme", secret_name AS "secretName", delivery_id_header AS "deliveryIdHeader", enabled,
  secret_pending AS "secretPending", source, created_at AS "createdAt", updated_at AS "updatedAt",
  secret_owned AS "secretOwned", sealed_secret IS NOT NULL AS "hasSecret",
  sealed_captured_secret AS "sealedCapturedSecret", secret_version AS "secretVersion"`;

const LIST = `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL`;
const findSql = (lock: string): string => `${LIST} AND uid = $2 ${lock}`;

export const WEBHOOK_QUOTA = new FactoryQuota('webhook_counts', 'webhooks', MAX_WEBHOOKS_PER_FACTORY);

/** Webhooks as they are managed; deleted ones are not found. */
@Injectable()
export class WebhooksStore {
  constructor(private readonly database: Database) {}

  list(factoryUid: string): Promise<ManagedWebhook[]> {
    return this.database.query(`${LIST} ORDER BY lower(name), id`, [factoryUid]);
  }

  async find(factoryUid: string, uid: string, queryable: Queryable = this.database): Promise<ManagedWebhook | null> {
    return first(await queryable.query<ManagedWebhook>(findSql(''), [factoryUid, uid]));
  }

  /** In any factory. `sealedSecret`: null while it has none. */
  async findWithSecret(uid: string): Promise<{ webhook: ManagedWebhook; sealedSecret: string | null } | null> {
    const [row] = await this.database.query<ManagedWebhook & { sealedSecret: string | null }>(
      `SELECT ${COLUMNS}, sealed_secret AS "sealedSecret" FROM webhooks WHERE uid = $1 AND deleted_at IS NULL`,
      [uid],
    );
    if (!row) return null;
    const { sealedSecret, ...webhook } = row;
    return { webhook, sealedSecret };
  }

  /** Locks it for this transaction; deliveries do not wait. */
  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook | null> {
    return first(await tx.query<ManagedWebhook>(findSql('FOR NO KEY UPDATE'), [factoryUid, uid]));
  }

  /** Also inserts the row of its rate, which every delivery updates. */
  async insert(tx: Queryable, webhook: NewWebhook): Promise<ManagedWebhook> {
    const rows = await tx.query<ManagedWebhook>(
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
    return writtenRow(rows);
  }

  /** Increments `version` only when a field has changed that deliveries depend on. */
  async update(
    tx: Queryable,
    id: string,
    { name, enabled, mayEnable, deliveryIdHeader }: WebhookFields,
  ): Promise<ManagedWebhook> {
    const rows = await tx.query<ManagedWebhook>(
      `UPDATE webhooks SET name = $2, enabled = $3, delivery_id_header = $4,
         version = version + CASE WHEN enabled <> $3 OR delivery_id_header IS DISTINCT FROM $4 THEN 1 ELSE 0 END,
         enables_with_secret = enables_with_secret AND $5, updated_at = headrace.now()
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, name, enabled, deliveryIdHeader, mayEnable],
    );
    return writtenRow(rows);
  }

  listForDefinition(tx: Queryable, factoryUid: string): Promise<ManagedWebhook[]> {
    return tx.query(`${LIST} ORDER BY name, id`, [factoryUid]);
  }

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
      await tx.query<ManagedWebhook>(findSql(`AND source = 'definition' FOR NO KEY UPDATE`), [factoryUid, uid]),
    );
  }

  /**
   * Increments `version` only when a field has changed that deliveries depend on. A copy of the same secret and version is
   * kept: encrypted again it would look like a change.
   */
  async replaceDefined(
    tx: Queryable,
    id: string,
    fields: WebhookSettings & { readonly copy: SecretCopy },
  ): Promise<void> {
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

  /** Keeps the delivery log and deletes the secrets. False when there is none. */
  async markDeleted(tx: Queryable, factoryUid: string, uid: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE webhooks SET deleted_at = headrace.now(), updated_at = headrace.now(), version = version + 1, enabled = false,
         enables_with_secret = false, secret_pending = false, sealed_secret = NULL, secret_version = NULL,
         sealed_captured_secret = NULL
       WHERE factory_uid = $1 AND uid = $2 AND deleted_at IS NULL RETURNING 1`,
      [factoryUid, uid],
    );
    return rows.length > 0;
  }

  /**
   * The webhooks of the API that have a copy of the managed secret, locked in one order. Those of a definition keep their
   * copy until the definition is applied.
   */
  lockCopies(tx: Queryable, teamUid: string, secretName: string): Promise<ManagedWebhook[]> {
    return tx.query(
      `SELECT ${COLUMNS} FROM webhooks WHERE team_uid = $1 AND secret_name = $2 AND source = 'api' AND deleted_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`,
      [teamUid, secretName],
    );
  }

  /** Also ends the waiting for a secret or a handshake. */
  async replaceCopy(tx: Queryable, id: string, { sealed, version }: SecretCopy): Promise<void> {
    await tx.query(
      `UPDATE webhooks SET sealed_secret = $2, secret_version = $3, secret_pending = false, sealed_captured_secret = NULL,
         enabled = enabled OR enables_with_secret, enables_with_secret = false, version = version + 1,
         updated_at = headrace.now()
       WHERE id = $1`,
      [id, sealed, version],
    );
  }

  usersOf(tx: Queryable, teamUid: string, secretName: string): Promise<Pick<ManagedWebhook, 'name' | 'uid'>[]> {
    return tx.query(
      `SELECT name, uid FROM webhooks WHERE team_uid = $1 AND secret_name = $2 AND deleted_at IS NULL ORDER BY id`,
      [teamUid, secretName],
    );
  }
}

const first = ([row]: readonly ManagedWebhook[]): ManagedWebhook | null => row ?? null;
