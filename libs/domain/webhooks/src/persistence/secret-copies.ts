import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { AuthMode } from '../domain/webhook.js';

/** A webhook that follows a managed secret. */
export interface Follower {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
}

interface Row {
  id: string;
  uid: string;
  name: string;
  auth_mode: AuthMode;
  signature_scheme: string | null;
}

/** The copies of managed secrets that webhooks keep. */
@Injectable()
export class SecretCopies {
  /** Those of the API; one of a definition keeps its copy until the definition is applied. Locked, in one order for all. */
  async followers(tx: Queryable, teamUid: string, secretName: string): Promise<Follower[]> {
    const rows = await tx.query<Row>(
      `SELECT id, uid, name, auth_mode, signature_scheme FROM webhooks
       WHERE team_uid = $1 AND secret_name = $2 AND source = 'api' AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE`,
      [teamUid, secretName],
    );
    return rows.map(({ auth_mode: authMode, signature_scheme: signatureScheme, ...row }) => ({
      ...row,
      authMode,
      signatureScheme,
    }));
  }

  /** Whatever a webhook waited for, this ends it. */
  async replace(tx: Queryable, id: string, sealed: string, secretVersion: number): Promise<void> {
    await tx.query(
      `UPDATE webhooks SET sealed_secret = $2, secret_version = $3, secret_pending = false, sealed_captured_secret = NULL,
         enabled = enabled OR enables_with_secret, enables_with_secret = false, version = version + 1,
         updated_at = headrace.now()
       WHERE id = $1`,
      [id, sealed, secretVersion],
    );
  }

  /** Name and uid of every webhook that uses it. */
  users(tx: Queryable, teamUid: string, secretName: string): Promise<{ name: string; uid: string }[]> {
    return tx.query(
      `SELECT name, uid FROM webhooks WHERE team_uid = $1 AND secret_name = $2 AND deleted_at IS NULL ORDER BY id`,
      [teamUid, secretName],
    );
  }
}
