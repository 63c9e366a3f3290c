/** From the most to the least powerful. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export function isRole(value: string): value is Role {
  return (ROLES as readonly string[]).includes(value);
}

export const PERMISSIONS = [
  'runs:read',
  'runs:write',
  'schedules:read',
  'schedules:write',
  'environments:read',
  'environments:write',
  'environments:redeem',
  'identities:read',
  'identities:manage',
  'mcp_servers:read',
  'mcp_servers:manage',
  'factories:read',
  'factories:manage',
  'notifications:read',
  'notifications:manage',
  'secrets:manage',
  'members:manage',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

const READ: readonly Permission[] = PERMISSIONS.filter((permission) => permission.endsWith(':read'));
const VIEW: readonly Permission[] = [...READ, 'environments:redeem'];
const WORK: readonly Permission[] = [...VIEW, 'runs:write', 'schedules:write'];

/** A viewer reads, and redeems links, which are personal; a member also creates, cancels, continues and schedules runs; an admin manages everything else. */
const GRANTS: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set(PERMISSIONS),
  admin: new Set(PERMISSIONS),
  member: new Set(WORK),
  viewer: new Set(VIEW),
};

export function can(role: Role, permission: Permission): boolean {
  return GRANTS[role].has(permission);
}

/** A service account has the permissions of a member of its team. */
export const SERVICE_ACCOUNT_ROLE: Role = 'member';
