import { Injectable, Logger } from '@nestjs/common';
import { Database, type Queryable, type Transaction } from '#platform/persistence';
import type { Role } from '../domain/roles.js';
import { actorOf } from './still-valid.js';
import { AccessChanges } from './token-authenticator.js';

export interface TeamMember {
  readonly uid: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly displayName: string;
  readonly photoUrl: string | null;
  readonly role: Role;
  /** Since this time the user is disabled. */
  readonly disabledAt: Date | null;
  readonly memberSince: Date;
}

export type MembershipResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown_team' }
  | { readonly kind: 'unknown_user' }
  | { readonly kind: 'not_a_member' }
  /** The user, if there is one, is no member yet. */
  | { readonly kind: 'invitation_required' }
  /** A team that has an owner always keeps one. */
  | { readonly kind: 'last_owner' }
  /** Only owners make and remove owners. */
  | { readonly kind: 'owner_required' }
  | { readonly kind: 'forbidden' };

interface Member {
  readonly teamUid: string;
  readonly userUid: string;
}

@Injectable()
export class MembersService {
  private readonly logger = new Logger(MembersService.name);

  constructor(
    private readonly database: Database,
    private readonly changes: AccessChanges,
  ) {}

  /** By e-mail address, those after `afterEmail`. */
  list(teamUid: string, afterEmail: string | null, limit: number): Promise<TeamMember[]> {
    return this.database.query<TeamMember>(
      `SELECT u.uid, u.email, u.is_email_verified AS "isEmailVerified", u.display_name AS "displayName", u.photo_url AS "photoUrl", m.role,
              u.disabled_at AS "disabledAt", m.created_at AS "memberSince"
         FROM headrace.memberships m JOIN headrace.users u ON u.uid = m.user_uid
        WHERE m.team_uid = $1 AND ($2::text IS NULL OR lower(u.email) > lower($2))
        ORDER BY lower(u.email) LIMIT $3`,
      [teamUid, afterEmail, limit],
    );
  }

  /**
   * Changes the role of a member, or adds a user to a team: only an administrator of the installation does this without an
   * invitation, which the user accepts. `credentialUid`: of the request; null: a command of the server, which may do everything.
   */
  setRole(
    { teamUid, userUid, role }: Member & { readonly role: Role },
    credentialUid: string | null = null,
  ): Promise<MembershipResult> {
    return this.database.transaction(async (tx) => {
      if (!(await lockTeam(tx, teamUid))) return { kind: 'unknown_team' };
      const actor = await actorOf(tx, teamUid, credentialUid);
      if (!actor.mayManage) return { kind: 'forbidden' };
      const before = await roleOf(tx, teamUid, userUid);
      if (before === null && !actor.isUnlimited) return { kind: 'invitation_required' };
      const [user] = await tx.query('SELECT 1 FROM headrace.users WHERE uid = $1', [userUid]);
      if (!user) return { kind: 'unknown_user' };
      if (!actor.mayManageOwners && (role === 'owner' || before === 'owner')) return { kind: 'owner_required' };
      if (role !== 'owner' && (await isLastOwner(tx, teamUid, userUid))) return { kind: 'last_owner' };
      await tx.query(
        `INSERT INTO headrace.memberships (team_uid, user_uid, role) VALUES ($1, $2, $3)
         ON CONFLICT (team_uid, user_uid) DO UPDATE SET role = excluded.role, from_groups = false`,
        [teamUid, userUid, role],
      );
      await deleteInvitations(tx, teamUid, userUid);
      await this.changes.announce(tx);
      return { kind: 'done' };
    });
  }

  /** Members remove themselves, too. `credentialUid`: see {@link setRole}. */
  remove({ teamUid, userUid }: Member, credentialUid: string | null = null): Promise<MembershipResult> {
    return this.database.transaction(async (tx) => {
      if (!(await lockTeam(tx, teamUid))) return { kind: 'unknown_team' };
      const actor = await actorOf(tx, teamUid, credentialUid);
      if (actor.userUid !== userUid) {
        if (!actor.mayManage) return { kind: 'forbidden' };
        if (!actor.mayManageOwners && (await roleOf(tx, teamUid, userUid)) === 'owner')
          return { kind: 'owner_required' };
      }
      if (await isLastOwner(tx, teamUid, userUid)) return { kind: 'last_owner' };
      const removed = await tx.query(
        'DELETE FROM headrace.memberships WHERE team_uid = $1 AND user_uid = $2 RETURNING 1',
        [teamUid, userUid],
      );
      if (removed.length === 0) return { kind: 'not_a_member' };
      await deleteInvitations(tx, teamUid, userUid);
      await this.changes.announce(tx);
      return { kind: 'done' };
    });
  }

  /**
   * Sets the roles that a user has from groups, by team, and removes those of earlier groups. Roles that were given by hand
   * stay, and the last owner of a team keeps the role.
   */
  async setGroupRoles(tx: Transaction, userUid: string, roles: ReadonlyMap<string, Role>): Promise<GroupChange[]> {
    const current = await tx.query<{ team_uid: string }>(
      'SELECT team_uid FROM headrace.memberships WHERE user_uid = $1 AND from_groups',
      [userUid],
    );
    // In one order, so that two sign-ins do not wait for each other.
    const teams = [...new Set([...roles.keys(), ...current.map(({ team_uid: uid }) => uid)])].sort();
    const changes: GroupChange[] = [];
    for (const teamUid of teams) {
      const role = roles.get(teamUid) ?? null;
      if (!(await lockTeam(tx, teamUid))) {
        this.logger.warn(`OIDC_GROUP_ROLES names the team ${teamUid}, which does not exist.`);
        continue;
      }
      if (role !== 'owner' && (await isLastOwner(tx, teamUid, userUid))) continue;
      const changed = await tx.query(
        role === null
          ? 'DELETE FROM headrace.memberships WHERE team_uid = $1 AND user_uid = $2 AND from_groups RETURNING 1'
          : `INSERT INTO headrace.memberships AS m (team_uid, user_uid, role, from_groups) VALUES ($1, $2, $3, true)
             ON CONFLICT (team_uid, user_uid) DO UPDATE SET role = excluded.role
              WHERE m.from_groups AND m.role <> excluded.role RETURNING 1`,
        role === null ? [teamUid, userUid] : [teamUid, userUid, role],
      );
      if (changed.length === 0) continue;
      await deleteInvitations(tx, teamUid, userUid);
      changes.push({ teamUid, role });
    }
    if (changes.length > 0) await this.changes.announce(tx);
    return changes;
  }
}

/** A change that groups of the OpenID provider have caused. */
export interface GroupChange {
  readonly teamUid: string;
  /** Null: the user is no member any more. */
  readonly role: Role | null;
}

/** An invitation from before must not give back a role that the user has lost since. */
async function deleteInvitations(tx: Queryable, teamUid: string, userUid: string): Promise<void> {
  await tx.query(
    `DELETE FROM headrace.invitations i USING headrace.users u
      WHERE i.team_uid = $1 AND u.uid = $2 AND lower(i.email) = lower(u.email)`,
    [teamUid, userUid],
  );
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

async function roleOf(tx: Queryable, teamUid: string, userUid: string): Promise<Role | null> {
  const [member] = await tx.query<{ role: Role }>(
    'SELECT role FROM headrace.memberships WHERE team_uid = $1 AND user_uid = $2',
    [teamUid, userUid],
  );
  return member?.role ?? null;
}
