import type { AuthMode, Webhook, WebhookSource } from '../domain/webhook.js';

/** A webhook and the key by which the hot tables know it. */
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

/** What {@link toWebhook} reads; nothing sealed. */
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
