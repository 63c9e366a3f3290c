import { Injectable } from '@nestjs/common';
import { Clock, newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { displayPrefix, hashToken, newToken } from '../domain/token.js';
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
  | { readonly kind: 'already_expired' };

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
    }: {
      readonly owner: PrincipalRef;
      readonly name: string;
      readonly expiresAt?: Date;
    },
    tx: Queryable = this.database,
  ): Promise<CreateTokenResult> {
    if (expiresAt !== undefined && expiresAt <= this.clock.now()) return { kind: 'already_expired' };
    const token = newToken();
    const [record] = await tx.query<TokenRecord>(
      `INSERT INTO headrace.tokens (uid, hash, prefix, name, ${owner.type}_uid, expires_at)
       SELECT $1, $2, $3, $4, uid, $6 FROM headrace.${owner.type}s WHERE uid = $5 AND disabled_at IS NULL
       RETURNING ${COLUMNS}`,
      [newUid(), hashToken(token), displayPrefix(token), name, owner.uid, expiresAt],
    );
    return record ? { kind: 'created', token, record } : { kind: 'unknown_owner' };
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

  /** Oldest first; with `owner` the tokens of one principal, otherwise all of the installation. */
  list({ owner }: { readonly owner?: PrincipalRef } = {}): Promise<TokenRecord[]> {
    const where = owner ? `WHERE kind = 'api' AND ${owner.type}_uid = $1` : `WHERE kind = 'api'`;
    return this.database.query<TokenRecord>(
      `SELECT ${COLUMNS} FROM headrace.tokens t ${where} ORDER BY t.created_at, uid`,
      owner ? [owner.uid] : [],
    );
  }

  /** Effective at once, and within a second in a process that the announcement does not reach. */
  async revoke({ tokenUid }: { readonly tokenUid: string }): Promise<{
    readonly kind: 'revoked' | 'already_revoked' | 'unknown';
  }> {
    const [token] = await this.database.query<{ was_revoked: boolean }>(
      `UPDATE headrace.tokens t SET revoked_at = coalesce(t.revoked_at, $2)
       FROM (SELECT uid, revoked_at FROM headrace.tokens WHERE uid = $1 FOR UPDATE) old
       WHERE t.uid = old.uid RETURNING old.revoked_at IS NOT NULL AS was_revoked`,
      [tokenUid, this.clock.now()],
    );
    if (!token) return { kind: 'unknown' };
    await this.database.query(
      'UPDATE headrace.tokens SET revoked_at = $2 WHERE created_with = $1 AND revoked_at IS NULL',
      [tokenUid, this.clock.now()],
    );
    await this.changes.announce(this.database);
    return { kind: token.was_revoked ? 'already_revoked' : 'revoked' };
  }
}
