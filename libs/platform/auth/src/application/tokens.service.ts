import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Clock, newUid } from '#platform/kernel';
import { displayPrefix, hashToken, newToken } from '../domain/token.js';
import { ServiceAccountRow, TokenRow, UserRow } from '../persistence/entities.js';
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

export type RevokeTokenResult =
  { readonly kind: 'revoked' } | { readonly kind: 'already_revoked' } | { readonly kind: 'unknown' };

@Injectable()
export class TokensService {
  constructor(
    @InjectRepository(TokenRow) private readonly tokens: Repository<TokenRow>,
    @InjectRepository(UserRow) private readonly users: Repository<UserRow>,
    @InjectRepository(ServiceAccountRow) private readonly accounts: Repository<ServiceAccountRow>,
    private readonly clock: Clock,
  ) {}

  async create({
    owner,
    name,
    expiresAt,
  }: {
    readonly owner: PrincipalRef;
    readonly name: string;
    readonly expiresAt?: Date;
  }): Promise<CreateTokenResult> {
    if (expiresAt !== undefined && expiresAt.getTime() <= this.clock.now().getTime())
      return { kind: 'already_expired' };
    if (!(await this.exists(owner))) return { kind: 'unknown_owner' };
    const token = newToken();
    const uid = newUid();
    await this.tokens.insert({
      uid,
      hash: hashToken(token),
      prefix: displayPrefix(token),
      name,
      userUid: owner.type === 'user' ? owner.uid : null,
      serviceAccountUid: owner.type === 'service_account' ? owner.uid : null,
      expiresAt: expiresAt ?? null,
      revokedAt: null,
    });
    return { kind: 'created', token, record: toRecord(await this.tokens.findOneByOrFail({ uid })) };
  }

  /** Oldest first; with `owner` the tokens of one principal, otherwise all of the installation. */
  async list({ owner }: { readonly owner?: PrincipalRef } = {}): Promise<TokenRecord[]> {
    const where =
      owner === undefined ? {} : owner.type === 'user' ? { userUid: owner.uid } : { serviceAccountUid: owner.uid };
    const rows = await this.tokens.find({ where, order: { createdAt: 'ASC', uid: 'ASC' } });
    return rows.map(toRecord);
  }

  /** Effective at once for new requests, and within a second in a process that has the token in its cache. */
  async revoke({ tokenUid }: { readonly tokenUid: string }): Promise<RevokeTokenResult> {
    const { affected } = await this.tokens.update(
      { uid: tokenUid, revokedAt: IsNull() },
      { revokedAt: this.clock.now() },
    );
    if ((affected ?? 0) > 0) return { kind: 'revoked' };
    return { kind: (await this.tokens.existsBy({ uid: tokenUid })) ? 'already_revoked' : 'unknown' };
  }

  private exists({ type, uid }: PrincipalRef): Promise<boolean> {
    return type === 'user'
      ? this.users.existsBy({ uid, disabledAt: IsNull() })
      : this.accounts.existsBy({ uid, disabledAt: IsNull() });
  }
}

function toRecord(row: TokenRow): TokenRecord {
  const owner: PrincipalRef =
    row.userUid === null
      ? { type: 'service_account', uid: row.serviceAccountUid ?? '' }
      : { type: 'user', uid: row.userUid };
  const { uid, prefix, name, createdAt, expiresAt, revokedAt, lastUsedAt } = row;
  return { uid, prefix, name, owner, createdAt, expiresAt, revokedAt, lastUsedAt };
}
