/** Most powerful first. */
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
const WORK: readonly Permission[] = [...READ, 'runs:write', 'schedules:write'];

/** The role table: a viewer reads; a member also works (creates, cancels, follows up, schedules); admins manage the rest. */
const GRANTS: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set(PERMISSIONS),
  admin: new Set(PERMISSIONS),
  member: new Set(WORK),
  viewer: new Set(READ),
};

export function can(role: Role, permission: Permission): boolean {
  return GRANTS[role].has(permission);
}

/** A service account works for its team like a member, and manages nothing. */
export const SERVICE_ACCOUNT_ROLE: Role = 'member';
