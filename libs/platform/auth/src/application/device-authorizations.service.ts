import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { base62, Clock, newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { hashToken } from '../domain/token.js';
import { displayUserCode, newUserCode, readUserCode } from '../domain/user-code.js';
import type { Principal } from '../domain/principal.js';
import { isStillValid, lockUser } from './still-valid.js';
import { type TokenRecord, TokensService } from './tokens.service.js';

export interface DeviceClient {
  readonly id: string;
  /** How the program names itself. */
  readonly name: string;
  readonly address: string;
  readonly userAgent: string | null;
}

export interface CreatedDeviceAuthorization {
  readonly deviceCode: string;
  /** `WDJB-MJHT`. */
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** What a user sees before the decision. */
export interface DeviceAuthorization {
  readonly uid: string;
  readonly clientName: string;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export type DeviceDecision = 'approve' | 'deny';

export type DeviceTokenResult =
  | { readonly kind: 'created'; readonly token: string; readonly record: TokenRecord }
  /** `invalid_grant`: the code is unknown, was used, or belongs to another program. The others: as in RFC 8628. */
  | {
      readonly kind: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'invalid_grant';
    };

interface Row {
  readonly uid: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly state: 'pending' | 'approved' | 'denied' | 'redeemed';
  readonly user_uid: string | null;
  readonly token_expires_at: Date | null;
  readonly expires_at: Date;
  readonly last_polled_at: Date | null;
  readonly poll_interval_seconds: number;
}

const TTL_SECONDS = 600;
const INTERVAL_SECONDS = 2;
/** What RFC 8628 adds to the interval with each `slow_down`. */
const SLOW_DOWN_SECONDS = 5;
/** Requests of a client that waits exactly the interval may arrive with another distance. */
const JITTER_MS = 500;
/** For programs that ask late, and get `expired_token`. */
const DELETE_AFTER = '1 hour';
const COLUMNS = `uid, client_name AS "clientName", address, created_at AS "createdAt", expires_at AS "expiresAt"`;

/** Tokens for programs that a user approves in a browser (RFC 8628). */
@Injectable()
export class DeviceAuthorizationsService {
  private readonly userCodeKey: Buffer;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly tokens: TokensService,
    { secretsKey = '' }: Settings,
  ) {
    this.userCodeKey = Buffer.from(hkdfSync('sha256', secretsKey, '', 'headrace/device-user-codes/v1', 32));
  }

  async create({ id, name, address, userAgent }: DeviceClient): Promise<CreatedDeviceAuthorization> {
    const now = this.clock.now();
    const deviceCode = base62(randomBytes(32), 43);
    const userCode = newUserCode();
    await this.database.query(
      'DELETE FROM headrace.device_authorizations WHERE expires_at < $1::timestamptz - $2::interval',
      [now, DELETE_AFTER],
    );
    await this.database.query(
      `INSERT INTO headrace.device_authorizations (uid, device_code_hash, user_code_hash, client_id, client_name, address,
         user_agent, created_at, expires_at, poll_interval_seconds) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        ...[newUid(), hashToken(deviceCode), this.hashUserCode(userCode), id, name, address, userAgent],
        ...[now, new Date(now.getTime() + TTL_SECONDS * 1000), INTERVAL_SECONDS],
      ],
    );
    return {
      deviceCode,
      userCode: displayUserCode(userCode),
      expiresInSeconds: TTL_SECONDS,
      intervalSeconds: INTERVAL_SECONDS,
    };
  }

  /** Null: no program waits with this code. */
  async find(typedCode: string): Promise<DeviceAuthorization | null> {
    const userCode = readUserCode(typedCode);
    if (userCode === null) return null;
    const [found] = await this.database.query<DeviceAuthorization>(
      `SELECT ${COLUMNS} FROM headrace.device_authorizations
        WHERE user_code_hash = $1 AND state = 'pending' AND expires_at > $2`,
      [this.hashUserCode(userCode), this.clock.now()],
    );
    return found ?? null;
  }

  /** Once. `tokenExpiresAt` null: the token does not expire. Null: as {@link find}. */
  async decide(
    typedCode: string,
    {
      decision,
      user,
      tokenExpiresAt,
    }: {
      readonly decision: DeviceDecision;
      readonly user: Pick<Principal, 'uid' | 'tokenUid'>;
      readonly tokenExpiresAt: Date | null;
    },
  ): Promise<DeviceAuthorization | null> {
    const userCode = readUserCode(typedCode);
    if (userCode === null) return null;
    return this.database.transaction(async (tx) => {
      if (!(await isStillValid(tx, user.tokenUid))) return null;
      const [decided] = await tx.query<DeviceAuthorization>(
        `UPDATE headrace.device_authorizations SET state = $3, user_uid = $4, token_expires_at = $5
          WHERE user_code_hash = $1 AND state = 'pending' AND expires_at > $2 RETURNING ${COLUMNS}`,
        [
          ...[this.hashUserCode(userCode), this.clock.now(), decision === 'approve' ? 'approved' : 'denied'],
          ...[user.uid, tokenExpiresAt],
        ],
      );
      return decided ?? null;
    });
  }

  /** The token of an approved program, once. */
  redeem(deviceCode: string, clientId: string): Promise<DeviceTokenResult> {
    return this.database.transaction(async (tx) => {
      const owner = 'SELECT user_uid FROM headrace.device_authorizations WHERE device_code_hash = $1';
      await lockUser(tx, owner, hashToken(deviceCode));
      const [row] = await tx.query<Row>(
        'SELECT * FROM headrace.device_authorizations WHERE device_code_hash = $1 FOR UPDATE SKIP LOCKED',
        [hashToken(deviceCode)],
      );
      // Programs that ask several times at once do not occupy connections while they wait for each other.
      if (!row && (await this.isKnown(tx, deviceCode))) return { kind: 'slow_down' };
      if (!row || row.client_id !== clientId || row.state === 'redeemed') return { kind: 'invalid_grant' };
      if (row.expires_at <= this.clock.now()) return { kind: 'expired_token' };
      if (row.state === 'denied') return { kind: 'access_denied' };
      return row.state === 'pending' ? this.notePoll(tx, row) : this.createToken(tx, row);
    });
  }

  private async isKnown(tx: Queryable, deviceCode: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM headrace.device_authorizations WHERE device_code_hash = $1', [
      hashToken(deviceCode),
    ]);
    return rows.length > 0;
  }

  private async notePoll(tx: Queryable, row: Row): Promise<DeviceTokenResult> {
    const now = this.clock.now();
    const earliest = (row.last_polled_at?.getTime() ?? 0) + row.poll_interval_seconds * 1000 - JITTER_MS;
    const isTooFast = now.getTime() < earliest;
    await tx.query(
      `UPDATE headrace.device_authorizations SET last_polled_at = $2, poll_interval_seconds = poll_interval_seconds + $3
        WHERE uid = $1`,
      [row.uid, now, isTooFast ? SLOW_DOWN_SECONDS : 0],
    );
    return { kind: isTooFast ? 'slow_down' : 'authorization_pending' };
  }

  private async createToken(tx: Queryable, row: Row): Promise<DeviceTokenResult> {
    const owner = { type: 'user', uid: row.user_uid ?? '' } as const;
    const expiresAt = row.token_expires_at;
    const created = await this.tokens.create({ owner, name: row.client_name, ...(expiresAt && { expiresAt }) }, tx);
    switch (created.kind) {
      case 'created':
        await tx.query(`UPDATE headrace.device_authorizations SET state = 'redeemed' WHERE uid = $1`, [row.uid]);
        return created;
      case 'already_expired':
        return { kind: 'expired_token' };
      // Since the approval the user was disabled, or has created as many other tokens as a user may have.
      case 'unknown_owner':
      case 'limit_reached':
        return { kind: 'access_denied' };
    }
  }

  private hashUserCode(code: string): Buffer {
    return createHmac('sha256', this.userCodeKey).update(code).digest();
  }
}
