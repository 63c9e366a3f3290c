import { type Permission, type Role } from './roles.js';

/** Settings of a team for its runs, loaded with every membership, so that a request needs no further query. */
export interface TeamSettings {
  /** For runs that name no model; null: the agent's own default. */
  readonly defaultModelId: string | null;
  /** For runs that name no worker host; null: hosted workers. */
  readonly defaultWorkerHost: string | null;
  readonly features: TeamFeatures;
}

/** Features that can be disabled for a team; a disabled feature answers 403 `feature_not_available`. */
export interface TeamFeatures {
  readonly metadata_filter: boolean;
  readonly schedules: boolean;
}

export const INITIAL_TEAM_SETTINGS: TeamSettings = {
  defaultModelId: null,
  defaultWorkerHost: null,
  features: { metadata_filter: true, schedules: true },
};

export type PrincipalType = 'user' | 'service_account';

export interface Membership {
  readonly teamUid: string;
  readonly role: Role;
  readonly team: TeamSettings;
}

/** The user or service account of a token. A service account has one membership: that of its team, as a member. */
export interface Principal {
  readonly type: PrincipalType;
  readonly uid: string;
  readonly displayName: string;
  readonly email?: string;
  readonly isAgentIdentity?: boolean;
  /** A user who administers the installation: teams and users. */
  readonly isAdministrator?: boolean;
  readonly memberships: readonly Membership[];
  readonly tokenUid: string;
}

export interface SelectedTeams {
  /** The team that the team header names, or the only team; null for a user of several teams (or none) without the header. */
  readonly teamUid: string | null;
  /** The teams that lists cover: the chosen team, or all teams of the user. */
  readonly teamUids: readonly string[];
}

export interface Caller extends SelectedTeams {
  readonly principal: Principal;
  /** The permission that the operation needs; `isAllowed` decides whether the caller has it on a resource. */
  readonly permission: Permission;
}

export function roleIn(principal: Principal, teamUid: string): Role | null {
  return principal.memberships.find((membership) => membership.teamUid === teamUid)?.role ?? null;
}

/**
 * The teams for the value of the team header; null when the principal is not a member of that team. A service account always
 * acts for its team, and the header is ignored.
 */
export function selectTeams(principal: Principal, teamHeader: string | undefined): SelectedTeams | null {
  const teamUids = principal.memberships.map(({ teamUid }) => teamUid);
  const chosen = principal.type === 'service_account' ? undefined : teamHeader;
  if (chosen !== undefined) return teamUids.includes(chosen) ? { teamUid: chosen, teamUids: [chosen] } : null;
  const [only, ...others] = teamUids;
  return { teamUid: only !== undefined && others.length === 0 ? only : null, teamUids };
}
