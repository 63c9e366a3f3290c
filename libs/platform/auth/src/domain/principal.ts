import { can, type Permission, type Role } from './roles.js';
import type { TeamSettings } from './team-settings.js';

export type PrincipalType = 'user' | 'service_account';

export interface Membership {
  readonly teamUid: string;
  readonly role: Role;
  readonly team: TeamSettings;
}

/** Who a token speaks for. A service account has exactly one membership: its own team, as a member. */
export interface Principal {
  readonly type: PrincipalType;
  readonly uid: string;
  readonly displayName: string;
  readonly email?: string;
  /** A service account that an agent acts as. */
  readonly isAgentIdentity?: boolean;
  readonly memberships: readonly Membership[];
  /** Uid of the token, not the token. */
  readonly tokenUid: string;
}

/** A principal in the team, or teams, that this request is about. */
export interface Caller {
  readonly principal: Principal;
  /** The team the header picked, or the only one; null for a user of several teams (or none) without a header. */
  readonly teamUid: string | null;
  /** What listings cover: the one team, or all teams of the user. */
  readonly teamUids: readonly string[];
}

/** The role of a principal on a team, or null. */
export function roleIn(principal: Principal, teamUid: string): Role | null {
  return principal.memberships.find((membership) => membership.teamUid === teamUid)?.role ?? null;
}

/** Whether the role of the caller on this team permits it. */
export function hasPermission(
  { principal }: Pick<Caller, 'principal'>,
  teamUid: string,
  permission: Permission,
): boolean {
  const role = roleIn(principal, teamUid);
  return role !== null && can(role, permission);
}

/**
 * The caller for a team header's value; null when the principal is no member of that team. A service account always
 * acts as its own team and the header is ignored.
 */
export function resolveCaller(principal: Principal, teamHeader: string | undefined): Caller | null {
  const teamUids = principal.memberships.map(({ teamUid }) => teamUid);
  const wanted = principal.type === 'service_account' ? undefined : teamHeader;
  if (wanted !== undefined) {
    return teamUids.includes(wanted) ? { principal, teamUid: wanted, teamUids: [wanted] } : null;
  }
  const [only, ...others] = teamUids;
  return { principal, teamUid: only !== undefined && others.length === 0 ? only : null, teamUids };
}
