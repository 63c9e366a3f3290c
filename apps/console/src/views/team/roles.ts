import type { Schemas } from '../../api/client';
import { principal, team } from '../../session';

type Role = Schemas['TeamRole'];

export const ROLES: readonly Role[] = ['owner', 'admin', 'member', 'viewer'];

/** Only owners and administrators of the installation manage owners. */
export function mayManageOwners(): boolean {
  const { memberships = [], is_administrator: isAdministrator } = principal.value ?? {};
  const own = memberships.find(({ team_uid: uid }) => uid === team.value) ?? memberships[0];
  return isAdministrator === true || own?.role === 'owner';
}

/** The roles that the user may give. */
export const offeredRoles = (): readonly Role[] => ROLES.filter((role) => role !== 'owner' || mayManageOwners());

/** Completes "As an admin you". */
export const ROLE_PERMITS: Readonly<Record<Role, string>> = {
  owner: 'manage the team, its members and its owners',
  admin: 'manage the team and its members',
  member: 'create and continue runs and schedules',
  viewer: 'read the runs of the team',
};
