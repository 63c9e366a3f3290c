import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import type { Membership } from '../domain/principal.js';
import { AccessChanges } from './token-authenticator.js';

export interface User {
  readonly uid: string;
  readonly email: string;
  readonly displayName: string;
  readonly photoUrl: string | null;
  /** Since this time the tokens of the user are rejected; null: enabled. */
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

type TeamRole = Pick<Membership, 'teamUid' | 'role'>;

const COLUMNS = `u.uid, u.email, u.display_name AS "displayName", u.photo_url AS "photoUrl",
  u.disabled_at AS "disabledAt", u.created_at AS "createdAt"`;

/** Stops the resources of a user who is disabled. */
export abstract class DisabledUserListener {
  /** Called in the transaction that disables the user; a failure rolls it back. */
  abstract userDisabled(tx: Queryable, userUid: string): Promise<void>;
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
  }: {
    readonly email: string;
    readonly displayName: string;
    readonly photoUrl?: string;
  }): Promise<{ readonly kind: 'created'; readonly user: User } | { readonly kind: 'email_taken' }> {
    const [user] = await this.database.query<User>(
      `INSERT INTO headrace.users AS u (uid, email, display_name, photo_url) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [newUid(), email, displayName, photoUrl],
    );
    return user ? { kind: 'created', user } : { kind: 'email_taken' };
  }

  list({ teamUid }: { readonly teamUid?: string } = {}): Promise<(User & { readonly memberships: TeamRole[] })[]> {
    return this.database.query<User & { readonly memberships: TeamRole[] }>(
      `SELECT ${COLUMNS}, coalesce(m.memberships, '[]') AS memberships FROM headrace.users u
       LEFT JOIN (SELECT user_uid, json_agg(json_build_object('teamUid', team_uid, 'role', role)) AS memberships,
                         array_agg(team_uid) AS team_uids
                    FROM headrace.memberships GROUP BY user_uid) m ON m.user_uid = u.uid
       WHERE $1::text IS NULL OR $1 = ANY(m.team_uids) ORDER BY u.created_at, u.uid`,
      [teamUid],
    );
  }

  /**
   * From the commit on all tokens of the user are rejected, and connections that they opened are closed. Memberships and
   * tokens are kept, so that `enable` reverts it; what was paused or cancelled remains paused or cancelled.
   */
  disable(userUid: string): Promise<{ readonly kind: 'disabled' | 'already_disabled' | 'unknown' }> {
    return this.setDisabled(userUid, true, ['disabled', 'already_disabled']);
  }

  enable(userUid: string): Promise<{ readonly kind: 'enabled' | 'not_disabled' | 'unknown' }> {
    return this.setDisabled(userUid, false, ['enabled', 'not_disabled']);
  }

  private setDisabled<Kind extends string>(
    userUid: string,
    isDisabled: boolean,
    [changed, unchanged]: readonly [changed: Kind, unchanged: Kind],
  ): Promise<{ readonly kind: Kind | 'unknown' }> {
    return this.database.transaction(async (tx) => {
      const [user] = await tx.query<{ is_disabled: boolean }>(
        'SELECT disabled_at IS NOT NULL AS is_disabled FROM headrace.users WHERE uid = $1 FOR UPDATE',
        [userUid],
      );
      if (!user) return { kind: 'unknown' };
      if (user.is_disabled === isDisabled) return { kind: unchanged };
      await tx.query('UPDATE headrace.users SET disabled_at = CASE WHEN $2 THEN headrace.now() END WHERE uid = $1', [
        userUid,
        isDisabled,
      ]);
      if (isDisabled) await this.listeners.userDisabled(tx, userUid);
      await this.changes.announce(tx);
      return { kind: changed };
    });
  }
}
