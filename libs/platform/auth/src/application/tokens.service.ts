import { Injectable } from '@nestjs/common';
import { Clock, newUid, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import { displayPrefix, hashToken, newToken } from '../domain/token.js';
import { mayCreateCredential } from './still-valid.js';
import { AccessChanges } from './token-authenticator.js';
import type { PrincipalRef } from './principal-directory.js';

/** What lists show of a token. The token itself is returned only by `create`. */
export interface TokenRecord {
  readonly uid: string;
  readonly prefix: string;
  readonly name: string;
  readonly owner: PrincipalRef;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Exact to about a minute. */
  readonly lastUsedAt: Date | null;
}

export type CreateTokenResult =
  | { readonly kind: 'created'; readonly token: string; readonly record: TokenRecord }
  | { readonly kind: 'unknown_owner' }
  | { readonly kind: 'already_expired' }
  | RejectionOf<'limit_reached'>;

/** Of one user or service account, without revoked and expired ones. */
export const MAX_TOKENS = 100;

const COLUMNS = `uid, prefix, name, json_build_object('type', CASE WHEN user_uid IS NULL THEN 'service_account' ELSE 'user' END,
    'uid', coalesce(user_uid, service_account_uid)) AS owner,
  created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"`;

@Injectable()
export class TokensService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changes: AccessChanges,
  ) {}

  async create(
    {
      owner,
      name,
      expiresAt,
      createdWith = '',
    }: {
      readonly owner: PrincipalRef;
      readonly name: string;
      readonly expiresAt?: Date;
      /** UID of the token or session of the request. */
      readonly createdWith?: string;
    },
    tx?: Queryable,
  ): Promise<CreateTokenResult> {
    if (expiresAt !== undefined && expiresAt <= this.clock.now()) return { kind: 'already_expired' };
    const token = newToken();
    const insert = async (tx: Queryable): Promise<CreateTokenResult> => {
      if (!(await mayCreateCredential(tx, createdWith, owner))) return { kind: 'unknown_owner' };
      // Serializes the tokens of a principal, so that the limit is exact.
      const known = await tx.query(
        `SELECT 1 FROM headrace.${owner.type}s WHERE uid = $1 AND disabled_at IS NULL FOR NO KEY UPDATE`,
        [owner.uid],
      );
      if (known.length === 0) return { kind: 'unknown_owner' };
      const [valid] = await tx.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM headrace.tokens WHERE ${owner.type}_uid = $1 AND kind = 'api'
            AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
        [owner.uid, this.clock.now()],
      );
      if ((valid?.count ?? 0) >= MAX_TOKENS) return { kind: 'limit_reached', limit: MAX_TOKENS };
      const rows = await tx.query<TokenRecord>(
        `INSERT INTO headrace.tokens (uid, hash, prefix, name, ${owner.type}_uid, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${COLUMNS}`,
        [newUid(), hashToken(token), displayPrefix(token), name, owner.uid, expiresAt],
      );
      return { kind: 'created', token, record: writtenRow(rows) };
    };
    return tx === undefined ? this.database.transaction(insert) : insert(tx);
  }

  async find(tokenUid: string): Promise<TokenRecord | null> {
    const [token] = await this.database.query<TokenRecord>(
      `SELECT ${COLUMNS} FROM headrace.tokens t WHERE uid = $1 AND kind = 'api'`,
      [tokenUid],
    );
    return token ?? null;
  }

  /** Of one principal, by uid, without revoked ones. `afterUid`: those after this one. */
  page(owner: PrincipalRef, afterUid: string | null, limit: number): Promise<TokenRecord[]> {
    return this.database.query<TokenRecord>(
      `SELECT ${COLUMNS} FROM headrace.tokens t
        WHERE ${owner.type}_uid = $1 AND kind = 'api' AND revoked_at IS NULL AND ($2::text IS NULL OR uid > $2) ORDER BY uid LIMIT $3`,
      [owner.uid, afterUid, limit],
    );
  }

  /** Effective at once, and within a second in a process that the announcement does not reach. */
  async revoke({ tokenUid }: { readonly tokenUid: string }): Promise<{
    readonly kind: 'revoked' | 'already_revoked' | 'unknown';
  }> {
    return this.database.transaction(async (tx) => {
      const [token] = await tx.query<{ was_revoked: boolean }>(
        `UPDATE headrace.tokens t SET revoked_at = coalesce(t.revoked_at, $2)
       FROM (SELECT uid, revoked_at FROM headrace.tokens WHERE uid = $1 FOR UPDATE) old
       WHERE t.uid = old.uid RETURNING old.revoked_at IS NOT NULL AS was_revoked`,
        [tokenUid, this.clock.now()],
      );
      if (!token) return { kind: 'unknown' } as const;
      await tx.query('UPDATE headrace.tokens SET revoked_at = $2 WHERE created_with = $1 AND revoked_at IS NULL', [
        tokenUid,
        this.clock.now(),
      ]);
      await this.changes.announce(tx);
      return { kind: token.was_revoked ? 'already_revoked' : 'revoked' } as const;
    });
  }
}
