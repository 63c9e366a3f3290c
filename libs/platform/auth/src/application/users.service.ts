import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#platform/kernel';
import { Database, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import type { Membership } from '../domain/principal.js';
import { MembershipRow, UserRow } from '../persistence/entities.js';
import { AccessChanges } from './access-changes.js';

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

export interface CreateUserCommand {
  readonly email: string;
  readonly displayName: string;
  readonly photoUrl?: string;
}

export type CreateUserResult = { readonly kind: 'created'; readonly user: User } | { readonly kind: 'email_taken' };

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

export type DisableUserResult = { readonly kind: 'disabled' | 'already_disabled' | 'unknown' };
export type EnableUserResult = { readonly kind: 'enabled' | 'not_disabled' | 'unknown' };

@Injectable()
export class UsersService {
  constructor(
    @InjectRepository(UserRow) private readonly users: Repository<UserRow>,
    @InjectRepository(MembershipRow) private readonly memberships: Repository<MembershipRow>,
    private readonly database: Database,
    private readonly listeners: DisabledUserListeners,
    private readonly changes: AccessChanges,
  ) {}

  async create({ email, displayName, photoUrl }: CreateUserCommand): Promise<CreateUserResult> {
    const uid = newUid();
    try {
      await this.users.insert({ uid, email, displayName, photoUrl: photoUrl ?? null });
    } catch (error) {
      if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'email_taken' };
      throw error;
    }
    return { kind: 'created', user: toUser(await this.users.findOneByOrFail({ uid })) };
  }

  /** Users with their memberships; with `teamUid` the members of that team only. */
  async list({ teamUid }: { readonly teamUid?: string } = {}): Promise<
    (User & { readonly memberships: TeamRole[] })[]
  > {
    const [users, memberships] = await Promise.all([
      this.users.find({ order: { createdAt: 'ASC', uid: 'ASC' } }),
      this.memberships.find(),
    ]);
    const byUser = new Map<string, TeamRole[]>();
    for (const { teamUid: uid, userUid, role } of memberships)
      byUser.set(userUid, [...(byUser.get(userUid) ?? []), { teamUid: uid, role }]);
    return users
      .map((user) => ({ ...toUser(user), memberships: byUser.get(user.uid) ?? [] }))
      .filter((user) => teamUid === undefined || user.memberships.some((membership) => membership.teamUid === teamUid));
  }

  /**
   * From the commit on all tokens of the user are rejected, and connections that they opened are closed. Memberships and
   * tokens are kept, so that `enable` reverts it; what was paused or cancelled remains paused or cancelled.
   */
  disable(userUid: string): Promise<DisableUserResult> {
    return this.database.transaction(async (tx): Promise<DisableUserResult> => {
      const [user] = await lockUser(tx, userUid);
      if (!user) return { kind: 'unknown' };
      if (user.is_disabled) return { kind: 'already_disabled' };
      await tx.query('UPDATE headrace.users SET disabled_at = headrace.now() WHERE uid = $1', [userUid]);
      await this.listeners.userDisabled(tx, userUid);
      await this.changes.announce(tx);
      return { kind: 'disabled' };
    });
  }

  enable(userUid: string): Promise<EnableUserResult> {
    return this.database.transaction(async (tx): Promise<EnableUserResult> => {
      const [user] = await lockUser(tx, userUid);
      if (!user) return { kind: 'unknown' };
      if (!user.is_disabled) return { kind: 'not_disabled' };
      await tx.query('UPDATE headrace.users SET disabled_at = NULL WHERE uid = $1', [userUid]);
      await this.changes.announce(tx);
      return { kind: 'enabled' };
    });
  }
}

const lockUser = (tx: Queryable, userUid: string): Promise<{ is_disabled: boolean }[]> =>
  tx.query('SELECT disabled_at IS NOT NULL AS is_disabled FROM headrace.users WHERE uid = $1 FOR UPDATE', [userUid]);

const toUser = ({ uid, email, displayName, photoUrl, disabledAt, createdAt }: UserRow): User => ({
  uid,
  email,
  displayName,
  photoUrl,
  disabledAt,
  createdAt,
});
