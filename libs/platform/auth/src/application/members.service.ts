import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import type { Role } from '../domain/roles.js';

export type MembershipResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown_team' }
  | { readonly kind: 'unknown_user' }
  | { readonly kind: 'not_a_member' }
  /** A team that has an owner always keeps one. */
  | { readonly kind: 'last_owner' };

interface Member {
  readonly teamUid: string;
  readonly userUid: string;
}

@Injectable()
export class MembersService {
  constructor(private readonly database: Database) {}

  /** Adds a user to a team, or changes the role of a member. */
  setRole({ teamUid, userUid, role }: Member & { readonly role: Role }): Promise<MembershipResult> {
    return this.database.transaction(async (tx) => {
      if (!(await lockTeam(tx, teamUid))) return { kind: 'unknown_team' };
      const [user] = await tx.query('SELECT 1 FROM headrace.users WHERE uid = $1', [userUid]);
      if (!user) return { kind: 'unknown_user' };
      if (role !== 'owner' && (await isLastOwner(tx, teamUid, userUid))) return { kind: 'last_owner' };
      await tx.query(
        `INSERT INTO headrace.memberships (team_uid, user_uid, role) VALUES ($1, $2, $3)
         ON CONFLICT (team_uid, user_uid) DO UPDATE SET role = excluded.role`,
        [teamUid, userUid, role],
      );
      return { kind: 'done' };
    });
  }

  remove({ teamUid, userUid }: Member): Promise<MembershipResult> {
    return this.database.transaction(async (tx) => {
      if (!(await lockTeam(tx, teamUid))) return { kind: 'unknown_team' };
      if (await isLastOwner(tx, teamUid, userUid)) return { kind: 'last_owner' };
      const removed = await tx.query(
        'DELETE FROM headrace.memberships WHERE team_uid = $1 AND user_uid = $2 RETURNING 1',
        [teamUid, userUid],
      );
      return { kind: removed.length > 0 ? 'done' : 'not_a_member' };
    });
  }
}

/** Two owners who remove each other at the same time are serialized here, so that the second is seen as the last one. */
async function lockTeam(tx: Queryable, teamUid: string): Promise<boolean> {
  const rows = await tx.query('SELECT 1 FROM headrace.teams WHERE uid = $1 FOR UPDATE', [teamUid]);
  return rows.length > 0;
}

async function isLastOwner(tx: Queryable, teamUid: string, userUid: string): Promise<boolean> {
  const owners = await tx.query<{ user_uid: string }>(
    `SELECT user_uid FROM headrace.memberships WHERE team_uid = $1 AND role = 'owner' LIMIT 2`,
    [teamUid],
  );
  return owners.length === 1 && owners[0]?.user_uid === userUid;
}
