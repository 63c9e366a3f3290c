import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { maxEntries } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import type { Caller, Membership, PrincipalType } from '../domain/principal.js';
import { SERVICE_ACCOUNT_ROLE } from '../domain/roles.js';
import { membershipsSql, teamSettingsSql } from '../persistence/token-queries.js';

export interface PrincipalRef {
  readonly type: PrincipalType;
  readonly uid: string;
}

/** The contract's `PrincipalInfo`. */
export interface PrincipalInfo extends PrincipalRef {
  readonly display_name: string;
  readonly email?: string;
  readonly photo_url?: string;
}

const DESCRIBE = statement('auth_describe_principals')`
  SELECT json_strip_nulls(json_build_object('type', type, 'uid', uid, 'display_name', name, 'email', email, 'photo_url', photo_url)) AS info
FROM (SELECT 'user' AS type, uid, display_name AS name, email, photo_url FROM headrace.users WHERE uid = ANY($1::text[])
  UNION ALL SELECT 'service_account', uid, name, NULL, NULL FROM headrace.service_accounts WHERE uid = ANY($2::text[])) p`;

const MEMBERSHIPS = statement('auth_memberships_of_user')`
  SELECT coalesce(${membershipsSql('u.uid')}, '[]') AS memberships
FROM headrace.users u WHERE u.uid = $1 AND u.disabled_at IS NULL AND (u.verified_at > $2::timestamptz) IS NOT TRUE`;

const MEMBERSHIPS_OF_ACCOUNT = statement('auth_memberships_of_service_account')`
  SELECT json_build_array(json_build_object('teamUid', t.uid, 'role', '${SERVICE_ACCOUNT_ROLE}', 'team', ${teamSettingsSql('t')})) AS memberships
FROM headrace.service_accounts s JOIN headrace.teams t ON t.uid = s.team_uid WHERE s.uid = $1 AND s.disabled_at IS NULL`;

const FRESH_MS = 5_000;
const MAX_CACHED = 5_000;

/** Users, service accounts and teams by their UIDs. Names and photos may be five seconds old. One round trip per call. */
@Injectable()
export class PrincipalDirectory {
  /** By type and uid. An unknown or deleted principal is cached too: lists refer to those again and again. */
  private readonly cache = new LRUCache<string, { readonly info: PrincipalInfo | null }>({
    ...maxEntries(MAX_CACHED),
    ttl: FRESH_MS,
    ttlResolution: 0,
  });

  constructor(private readonly database: Database) {}

  /** By uid; unknown ones are left out. One query for all that are not known yet, none when all are. */
  async describe(refs: readonly PrincipalRef[]): Promise<Map<string, PrincipalInfo>> {
    const start = performance.now();
    const found = new Map<string, PrincipalInfo>();
    const missing = new Map<string, PrincipalRef>();
    for (const ref of refs) {
      if (found.has(ref.uid)) continue;
      const key = keyOf(ref);
      const cached = this.cache.get(key);
      if (!cached) missing.set(key, ref);
      else if (cached.info) found.set(ref.uid, cached.info);
    }
    if (missing.size === 0) return found;
    const ofType = (type: PrincipalType): string[] =>
      [...missing.values()].filter((ref) => ref.type === type).map(({ uid }) => uid);
    const rows = await this.database.query<{ info: PrincipalInfo }>(DESCRIBE, [
      ofType('user'),
      ofType('service_account'),
    ]);
    for (const key of missing.keys()) this.cache.set(key, { info: null }, { start });
    for (const { info } of rows) {
      this.cache.set(keyOf(info), { info }, { start });
      found.set(info.uid, info);
    }
    return found;
  }

  /** The uid of a user, or null. The case of an address does not matter. */
  async findUser(by: { readonly uid: string } | { readonly email: string }): Promise<string | null> {
    const [where, value] = 'uid' in by ? ['uid = $1', by.uid] : ['lower(email) = lower($1)', by.email];
    const [row] = await this.database.query<{ uid: string }>(`SELECT uid FROM headrace.users WHERE ${where}`, [value]);
    return row?.uid ?? null;
  }

  /**
   * The uid of the user to whom the address belongs, or null: it is verified, or the user is a member of one of the teams. A user who
   * creates an invitation to an address can accept it, too.
   */
  async findUserByAddress(email: string, teamUids: readonly string[]): Promise<string | null> {
    const [row] = await this.database.query<{ uid: string }>(
      `SELECT u.uid FROM headrace.users u WHERE lower(u.email) = lower($1) AND (u.is_email_verified OR EXISTS (
         SELECT 1 FROM headrace.memberships m WHERE m.user_uid = u.uid AND m.team_uid = ANY($2::text[])))`,
      [email, teamUids],
    );
    return row?.uid ?? null;
  }

  async isTeam(uid: string): Promise<boolean> {
    const rows = await this.database.query('SELECT 1 FROM headrace.teams WHERE uid = $1', [uid]);
    return rows.length > 0;
  }

  /**
   * The current memberships of a user, for what the service does for them later; null: unknown, disabled, or, at the time `since`, maybe
   * another person (see `UsersService.verifyAddress`).
   */
  async membershipsOf(userUid: string, since: Date | null = null): Promise<readonly Membership[] | null> {
    const [row] = await this.database.query<{ memberships: Membership[] }>(MEMBERSHIPS, [userUid, since]);
    return row?.memberships ?? null;
  }

  /** A principal as a caller with the rights of now, for what an agent does for them; null as for {@link membershipsOf}. */
  async callerNow(ref: PrincipalRef, teamUid: string | null, since: Date): Promise<Caller | null> {
    const found =
      ref.type === 'user'
        ? await this.membershipsOf(ref.uid, since)
        : (await this.database.query<{ memberships: Membership[] }>(MEMBERSHIPS_OF_ACCOUNT, [ref.uid]))[0]?.memberships;
    if (!found) return null;
    const principal = { ...ref, displayName: '', memberships: found, tokenUid: '' };
    return { principal, permission: 'runs:write', teamUid, teamUids: teamUid === null ? [] : [teamUid] };
  }
}

const keyOf = ({ type, uid }: PrincipalRef): string => `${type}/${uid}`;
