import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, type Queryable, type Transaction, WRITE_TIME } from '#platform/persistence';
import type { Membership } from '../domain/principal.js';
import { currentAccess, isStillValid } from './still-valid.js';
import { AccessChanges, TOKEN_CACHE_MS } from './token-authenticator.js';

export interface User {
  readonly uid: string;
  readonly email: string;
  /** False: the account was created by an invitation to this address, which another person may have accepted. */
  readonly isEmailVerified: boolean;
  readonly displayName: string;
  readonly photoUrl: string | null;
  /** Of the installation. */
  readonly isAdministrator: boolean;
  /** Since this time the tokens of the user are rejected; null: enabled. */
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

/**
 * How long requests may be processed that were authenticated before a change of access. What they create counts as created
 * before; those that take longer check the access again.
 */
const REQUESTS_MS = 2 * TOKEN_CACHE_MS;

const COLUMNS = `u.uid, u.email, u.is_email_verified AS "isEmailVerified", u.display_name AS "displayName", u.photo_url AS "photoUrl", u.is_administrator AS "isAdministrator",
  u.disabled_at AS "disabledAt", u.created_at AS "createdAt"`;

export type TeamRole = Pick<Membership, 'teamUid' | 'role'>;

export type UserWithMemberships = User & { readonly memberships: TeamRole[] };

export interface UserChanges {
  readonly displayName?: string;
  readonly isAdministrator?: boolean;
  readonly isDisabled?: boolean;
}

export type UpdateUserResult =
  | { readonly kind: 'updated'; readonly user: UserWithMemberships }
  /** `last_administrator`: an installation always keeps one that is not disabled. */
  | { readonly kind: 'not_found' | 'last_administrator' | 'forbidden' };

const WITH_MEMBERSHIPS = `${COLUMNS}, coalesce((SELECT json_agg(json_build_object('teamUid', m.team_uid, 'role', m.role)
    ORDER BY m.created_at, m.team_uid) FROM headrace.memberships m WHERE m.user_uid = u.uid), '[]') AS memberships`;

/** Ends what a user has who is disabled, or whose account another person has had. */
export abstract class DisabledUserListener {
  /** Called in the transaction that disables the user, or verifies the address; a failure rolls it back. */
  abstract userDisabled(tx: Queryable, userUid: string): Promise<void>;

  /** Called in the transaction that verifies the address of a user whose account another person may have had. */
  async addressVerified(_tx: Queryable, _userUid: string): Promise<void> {}
}

/** The listeners of this process. A process that disables users must have all of them. */
@Injectable()
export class DisabledUserListeners {
  private readonly listeners: DisabledUserListener[] = [];

  register(listener: DisabledUserListener): void {
    this.listeners.push(listener);
  }

  async userDisabled(tx: Queryable, userUid: string): Promise<void> {
    for (const listener of this.listeners) await listener.userDisabled(tx, userUid);
  }

  async addressVerified(tx: Queryable, userUid: string): Promise<void> {
    for (const listener of this.listeners) await listener.addressVerified(tx, userUid);
  }
}

@Injectable()
export class UsersService {
  constructor(
    private readonly database: Database,
    private readonly listeners: DisabledUserListeners,
    private readonly changes: AccessChanges,
  ) {}

  async create({
    email,
    displayName,
    photoUrl,
    isAdministrator = false,
    credentialUid = null,
  }: {
    readonly email: string;
    readonly displayName: string;
    readonly photoUrl?: string;
    readonly isAdministrator?: boolean;
    /** Of the request; null: a command of the server. */
    readonly credentialUid?: string | null;
  }): Promise<{ readonly kind: 'created'; readonly user: User } | { readonly kind: 'email_taken' | 'forbidden' }> {
    return this.database.transaction(async (tx) => {
      if (credentialUid !== null && !(await this.isAdministrator(tx, credentialUid))) return { kind: 'forbidden' };
      const [user] = await tx.query<User>(
        `INSERT INTO headrace.users AS u (uid, email, display_name, photo_url, is_administrator) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
        [newUid(), email, displayName, photoUrl, isAdministrator],
      );
      return user ? { kind: 'created', user } : { kind: 'email_taken' };
    });
  }

  private async isAdministrator(tx: Queryable, credentialUid: string): Promise<boolean> {
    if (!(await isStillValid(tx, credentialUid))) return false;
    return (await currentAccess(tx, credentialUid))?.isAdministrator === true;
  }

  async find(userUid: string): Promise<UserWithMemberships | null> {
    const [user] = await this.database.query<UserWithMemberships>(
      `SELECT ${WITH_MEMBERSHIPS} FROM headrace.users u WHERE u.uid = $1`,
      [userUid],
    );
    return user ?? null;
  }

  /** By e-mail address, those after `afterEmail`. `text`: part of the address or the name, in any case. */
  search({
    text,
    afterEmail,
    limit,
  }: {
    readonly text: string | null;
    readonly afterEmail: string | null;
    readonly limit: number;
  }): Promise<UserWithMemberships[]> {
    return this.database.query<UserWithMemberships>(
      `SELECT ${WITH_MEMBERSHIPS} FROM headrace.users u
        WHERE ($1::text IS NULL OR strpos(lower(u.email), lower($1)) > 0 OR strpos(lower(u.display_name), lower($1)) > 0)
          AND ($2::text IS NULL OR lower(u.email) > lower($2))
        ORDER BY lower(u.email) LIMIT $3`,
      [text, afterEmail, limit],
    );
  }

  /**
   * Only the given fields. `credentialUid`: of the request; null: a command of the server, which may do everything.
   */
  async update(
    userUid: string,
    { displayName, isAdministrator, isDisabled }: UserChanges,
    credentialUid: string | null = null,
  ): Promise<UpdateUserResult> {
    const kind = await this.database.transaction(async (tx) => {
      // Two administrators who remove each other at the same time are serialized here.
      const administrators = await tx.query<{ uid: string }>(
        'SELECT uid FROM headrace.users WHERE is_administrator AND disabled_at IS NULL ORDER BY uid FOR UPDATE',
      );
      if (credentialUid !== null && (await currentAccess(tx, credentialUid))?.isAdministrator !== true)
        return 'forbidden' as const;
      const endsAdministration = isAdministrator === false || isDisabled === true;
      if (endsAdministration && administrators.length === 1 && administrators[0]?.uid === userUid)
        return 'last_administrator' as const;
      const updated = await tx.query(
        `UPDATE headrace.users SET display_name = coalesce($2, display_name), is_administrator = coalesce($3, is_administrator)
          WHERE uid = $1 RETURNING 1`,
        [userUid, displayName, isAdministrator],
      );
      if (updated.length === 0) return 'not_found' as const;
      // Administrators are named by their address.
      if (isAdministrator === true) await this.verifyAddress(tx, userUid);
      if (isDisabled !== undefined) await this.setDisabled(tx, userUid, isDisabled);
      await this.changes.announce(tx);
      return 'updated' as const;
    });
    if (kind !== 'updated') return { kind };
    const user = await this.find(userUid);
    return user ? { kind, user } : { kind: 'not_found' };
  }

  /**
   * The user is the owner of the e-mail address. An invitation may have been accepted by another person, whose sessions,
   * tokens, schedules and shared environments end then. Their runs end with the next sweep.
   */
  async verifyAddress(tx: Transaction, userUid: string): Promise<void> {
    const changed = await tx.query(
      'UPDATE headrace.users SET is_email_verified = true WHERE uid = $1 AND NOT is_email_verified RETURNING 1',
      [userUid],
    );
    if (changed.length === 0) return;
    await tx.query(
      'UPDATE headrace.tokens SET revoked_at = headrace.now() WHERE user_uid = $1 AND revoked_at IS NULL',
      [userUid],
    );
    await tx.query(
      `UPDATE headrace.device_authorizations SET state = 'denied' WHERE user_uid = $1 AND state = 'approved'`,
      [userUid],
    );
    // The person has the links of invitations that they have created.
    await tx.query('DELETE FROM headrace.invitations WHERE created_by = $1', [userUid]);
    await this.listeners.userDisabled(tx, userUid);
    await this.listeners.addressVerified(tx, userUid);
    // Only now: what is written while this transaction waits for a lock was written before.
    await tx.query(
      `UPDATE headrace.users SET verified_at = ${WRITE_TIME} + $2 * interval '1 millisecond' WHERE uid = $1`,
      [userUid, REQUESTS_MS],
    );
    await this.changes.announce(tx);
  }

  list({ teamUid }: { readonly teamUid?: string } = {}): Promise<UserWithMemberships[]> {
    return this.database.query<UserWithMemberships>(
      `SELECT ${COLUMNS}, coalesce(m.memberships, '[]') AS memberships FROM headrace.users u
       LEFT JOIN (SELECT user_uid, json_agg(json_build_object('teamUid', team_uid, 'role', role)) AS memberships,
                         array_agg(team_uid) AS team_uids
                    FROM headrace.memberships GROUP BY user_uid) m ON m.user_uid = u.uid
       WHERE $1::text IS NULL OR $1 = ANY(m.team_uids) ORDER BY u.created_at, u.uid`,
      [teamUid],
    );
  }

  /**
   * From the commit on all tokens of a disabled user are rejected, and connections that they opened are closed. Memberships and
   * tokens are kept, so that they are valid again once the user is enabled; what was paused or cancelled remains paused or
   * cancelled.
   */
  private async setDisabled(tx: Queryable, userUid: string, isDisabled: boolean): Promise<void> {
    const [user] = await tx.query<{ is_disabled: boolean }>(
      'SELECT disabled_at IS NOT NULL AS is_disabled FROM headrace.users WHERE uid = $1 FOR UPDATE',
      [userUid],
    );
    if (user === undefined || user.is_disabled === isDisabled) return;
    await tx.query('UPDATE headrace.users SET disabled_at = CASE WHEN $2 THEN headrace.now() END WHERE uid = $1', [
      userUid,
      isDisabled,
    ]);
    if (isDisabled) await this.listeners.userDisabled(tx, userUid);
  }
}
