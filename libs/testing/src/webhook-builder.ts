import { randomBytes } from 'node:crypto';
import type { Settings } from '#platform/config';
import { base62, newUid } from '#platform/kernel';
import { SecretBox } from '#platform/secrets';
import type { TestDatabase } from './database/test-database.js';
import { FactoryBuilder } from './factory-builder.js';

export interface WebhookShape {
  readonly authMode?: 'token' | 'url_token' | 'signature';
  readonly signatureScheme?: string;
  /** Default: random. Null: none yet. */
  readonly secret?: string | null;
  readonly deliveryIdHeader?: string;
  readonly enabled?: boolean;
  /** Waits for a handshake; without a secret. */
  readonly secretPending?: boolean;
  readonly isDeleted?: boolean;
  readonly name?: string;
  readonly factoryUid?: string;
}

export interface BuiltWebhook {
  /** Number of the row, as text. */
  readonly id: string;
  readonly uid: string;
  readonly teamUid: string;
  readonly factoryUid: string;
  readonly secret: string;
  /** Path at the ingress, with the token in `url_token` mode. */
  readonly path: string;
}

/** Columns of a webhook that no response contains. */
export interface StoredWebhook {
  readonly version: number;
  readonly enabled: boolean;
  /** The webhook's copy of its secret, decrypted. */
  readonly secret: string | null;
  readonly secretVersion: number | null;
  readonly hasCaptured: boolean;
  readonly isDeleted: boolean;
}

/** Webhooks straight into the database, as the management API would leave them. */
export class WebhookBuilder {
  private readonly box: SecretBox;

  constructor(
    private readonly database: Pick<TestDatabase, 'query'>,
    settings: Settings,
  ) {
    this.box = new SecretBox(settings);
  }

  /** A factory of a new team. */
  async factory(): Promise<{ factoryUid: string; teamUid: string }> {
    const teamUid = newUid();
    await this.database.query(`INSERT INTO headrace.teams (uid, name) VALUES ($1, 'Team')`, [teamUid]);
    return { factoryUid: await new FactoryBuilder(this.database).build({ teamUid }), teamUid };
  }

  async webhook(shape: WebhookShape = {}): Promise<BuiltWebhook> {
    const { authMode = 'token', secretPending = false, enabled = true, isDeleted = false } = shape;
    const secret = shape.secret === undefined ? base62(randomBytes(32), 43) : shape.secret;
    const hasSecret = secret !== null && !secretPending;
    const uid = newUid();
    const { factoryUid, teamUid } = shape.factoryUid
      ? { factoryUid: shape.factoryUid, teamUid: await this.teamOf(shape.factoryUid) }
      : await this.factory();
    const [row] = await this.database.query<{ id: string }>(
      `WITH w AS (INSERT INTO headrace.webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme,
         delivery_id_header, enabled, source, secret_name, secret_owned, secret_version, sealed_secret, secret_pending, deleted_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'api', $9, true, $10, $11, $12, CASE WHEN $13 THEN headrace.now() END)
       RETURNING id)
       INSERT INTO headrace.webhook_rates (webhook_id) SELECT id FROM w RETURNING webhook_id AS id`,
      [
        ...[uid, factoryUid, teamUid, shape.name ?? 'hook', authMode, shape.signatureScheme ?? null],
        ...[shape.deliveryIdHeader ?? null, enabled, `webhook-${uid}`, hasSecret ? 1 : null],
        ...[hasSecret ? this.box.seal(secret, `webhook/${uid}/secret`) : null, secretPending, isDeleted],
      ],
    );
    const path = `/webhooks/w/${uid}${authMode === 'url_token' ? `/${secret ?? ''}` : ''}`;
    return { id: row?.id ?? '', uid, teamUid, factoryUid, secret: secret ?? '', path };
  }

  /** What rotating does: a new secret and a new version, in one statement. */
  async rotate({ uid }: Pick<BuiltWebhook, 'uid'>, secret: string): Promise<void> {
    await this.database.query(
      `UPDATE headrace.webhooks SET sealed_secret = $2, secret_version = secret_version + 1, version = version + 1 WHERE uid = $1`,
      [uid, this.box.seal(secret, `webhook/${uid}/secret`)],
    );
  }

  async stored(uid: string): Promise<StoredWebhook> {
    const [row] = await this.database.query<{
      version: number;
      enabled: boolean;
      sealed_secret: string | null;
      secret_version: number | null;
      sealed_captured_secret: string | null;
      deleted_at: Date | null;
    }>('SELECT * FROM headrace.webhooks WHERE uid = $1', [uid]);
    if (!row) throw new Error(`Webhook ${uid} does not exist.`);
    const { sealed_secret: sealed } = row;
    return {
      version: row.version,
      enabled: row.enabled,
      secret: sealed === null ? null : this.box.open(sealed, `webhook/${uid}/secret`),
      secretVersion: row.secret_version,
      hasCaptured: row.sealed_captured_secret !== null,
      isDeleted: row.deleted_at !== null,
    };
  }

  /** Stores a secret as the ingress does when the handshake of a sender contains one. */
  async captureSecret(uid: string, secret: string): Promise<void> {
    await this.database.query(
      'UPDATE headrace.webhooks SET sealed_captured_secret = $2, version = version + 1 WHERE uid = $1',
      [uid, this.box.seal(secret, `webhook/${uid}/captured-secret`)],
    );
  }

  /** Makes it a webhook that an applied definition created. */
  async markAsDefined(uid: string): Promise<void> {
    await this.database.query(`UPDATE headrace.webhooks SET source = 'definition' WHERE uid = $1`, [uid]);
  }

  private async teamOf(factoryUid: string): Promise<string> {
    const [row] = await this.database.query<{ team_uid: string }>(
      'SELECT team_uid FROM headrace.factories WHERE uid = $1',
      [factoryUid],
    );
    return row?.team_uid ?? '';
  }
}
