import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { AuthMode } from '../domain/webhook.js';

/** A webhook whose copy follows a managed secret. */
export interface Follower {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
}

/** The copies of managed secrets that webhooks keep. */
@Injectable()
export class SecretCopies {
  /** Webhooks of the API; those of a definition keep their copy until the definition is applied. Locks them in one order. */
  followers(tx: Queryable, teamUid: string, secretName: string): Promise<Follower[]> {
    return tx.query(
      `SELECT id, uid, name, auth_mode AS "authMode", signature_scheme AS "signatureScheme" FROM webhooks
       WHERE team_uid = $1 AND secret_name = $2 AND source = 'api' AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE`,
      [teamUid, secretName],
    );
  }

  /** Also ends the waiting for a secret or a handshake. */
  async replace(tx: Queryable, id: string, sealed: string, secretVersion: number): Promise<void> {
    await tx.query(
      `UPDATE webhooks SET sealed_secret = $2, secret_version = $3, secret_pending = false, sealed_captured_secret = NULL,
         enabled = enabled OR enables_with_secret, enables_with_secret = false, version = version + 1,
         updated_at = headrace.now()
       WHERE id = $1`,
      [id, sealed, secretVersion],
    );
  }

  /** Name and uid of every webhook that uses the secret. */
  users(tx: Queryable, teamUid: string, secretName: string): Promise<{ name: string; uid: string }[]> {
    return tx.query(
      `SELECT name, uid FROM webhooks WHERE team_uid = $1 AND secret_name = $2 AND deleted_at IS NULL ORDER BY id`,
      [teamUid, secretName],
    );
  }
}
