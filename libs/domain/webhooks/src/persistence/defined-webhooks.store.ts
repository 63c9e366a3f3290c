import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { AuthMode } from '../domain/webhook.js';
import { type StoredWebhook, toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './webhooks.store.js';

export interface CopiedWebhook extends StoredWebhook {
  /** Of the managed secret that the sealed copy is of. */
  readonly secretVersion: number | null;
}

export interface DefinedFields {
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
  readonly secretName: string;
  readonly copy: { readonly sealed: string; readonly version: number };
}

interface Row extends WebhookRow {
  secret_version: number | null;
}

const COLUMNS = `${WEBHOOK_COLUMNS}, secret_version`;

/** Webhooks as definitions see them. */
@Injectable()
export class DefinedWebhooksStore {
  /** Whoever wrote them, by name. */
  async list(tx: Queryable, factoryUid: string): Promise<CopiedWebhook[]> {
    const rows = await tx.query<Row>(
      `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL ORDER BY name, id`,
      [factoryUid],
    );
    return rows.map(toCopied);
  }

  /** Until the transaction ends nobody else changes those of definitions. Not in the way of deliveries. */
  async lockAll(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(
      `SELECT 1 FROM webhooks WHERE factory_uid = $1 AND source = 'definition' AND deleted_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`,
      [factoryUid],
    );
  }

  /** Of a definition; locked, not in the way of deliveries. */
  async lock(tx: Queryable, factoryUid: string, uid: string): Promise<CopiedWebhook | null> {
    const [row] = await tx.query<Row>(
      `SELECT ${COLUMNS} FROM webhooks
       WHERE factory_uid = $1 AND uid = $2 AND source = 'definition' AND deleted_at IS NULL FOR NO KEY UPDATE`,
      [factoryUid, uid],
    );
    return row ? toCopied(row) : null;
  }

  /**
   * Moves `version` when what deliveries depend on has changed. A copy of the secret and version that it has already stays:
   * sealed anew it would only look like another.
   */
  async replace(tx: Queryable, id: string, fields: DefinedFields): Promise<void> {
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
}

const toCopied = (row: Row): CopiedWebhook => ({ ...toWebhook(row), secretVersion: row.secret_version });
