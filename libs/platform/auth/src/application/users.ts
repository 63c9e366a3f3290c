import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#platform/kernel';
import { sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import type { Membership } from '../domain/principal.js';
import { MembershipRow, UserRow } from '../persistence/entities.js';

export interface User {
  readonly uid: string;
  readonly email: string;
  readonly displayName: string;
  readonly photoUrl: string | null;
  /** Since when their tokens are refused. */
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

@Injectable()
export class CreateUser {
  constructor(@InjectRepository(UserRow) private readonly users: Repository<UserRow>) {}

  async execute({ email, displayName, photoUrl }: CreateUserCommand): Promise<CreateUserResult> {
    const uid = newUid();
    try {
      await this.users.insert({ uid, email, displayName, photoUrl: photoUrl ?? null });
    } catch (error) {
      if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'email_taken' };
      throw error;
    }
    return { kind: 'created', user: toUser(await this.users.findOneByOrFail({ uid })) };
  }
}

@Injectable()
export class ListUsers {
  constructor(
    @InjectRepository(UserRow) private readonly users: Repository<UserRow>,
    @InjectRepository(MembershipRow) private readonly memberships: Repository<MembershipRow>,
  ) {}

  /** With their memberships. `teamUid`: the members of that team only. */
  async execute({ teamUid }: { readonly teamUid?: string } = {}): Promise<
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
}

const toUser = ({ uid, email, displayName, photoUrl, disabledAt, createdAt }: UserRow): User => ({
  uid,
  email,
  displayName,
  photoUrl,
  disabledAt,
  createdAt,
});
