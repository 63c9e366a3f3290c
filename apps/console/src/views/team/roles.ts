import type { Schemas } from '../../api/client';

type Role = Schemas['TeamRole'];

export const ROLES: readonly Role[] = ['owner', 'admin', 'member', 'viewer'];

/** Completes "As an admin you". */
export const ROLE_PERMITS: Readonly<Record<Role, string>> = {
  owner: 'manage the team, its members and its owners',
  admin: 'manage the team and its members',
  member: 'create and continue runs and schedules',
  viewer: 'read the runs of the team',
};
