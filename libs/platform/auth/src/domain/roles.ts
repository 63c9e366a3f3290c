/** From the most to the least powerful. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

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
  'members:read',
  'members:manage',
  'service_accounts:manage',
  'tokens:manage',
  'teams:read',
  'teams:manage',
  'audit_log:read',
  'installation:manage',
] as const;

/** `<plugin>/<resource>:<action>`: declared by a plugin with {@link declarePermissions}. */
export type PluginPermission = `${string}/${string}:${string}`;
export type Permission = (typeof PERMISSIONS)[number] | PluginPermission;

/** Of administrators of the installation, whatever their roles on teams are. */
const OF_INSTALLATION: ReadonlySet<Permission> = new Set(['installation:manage']);
const MANAGE: readonly Permission[] = PERMISSIONS.filter((permission) => !OF_INSTALLATION.has(permission));
const READ = MANAGE.filter((permission) => permission.endsWith(':read') && permission !== 'audit_log:read');
const VIEW: readonly Permission[] = [...READ, 'environments:redeem'];
const WORK: readonly Permission[] = [...VIEW, 'runs:write', 'schedules:write'];

/** A viewer reads, and redeems links, which are personal; a member also creates, cancels, continues and schedules runs; an admin manages everything else. */
const GRANTS: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set(MANAGE),
  admin: new Set(MANAGE),
  member: new Set(WORK),
  viewer: new Set(VIEW),
};

/** The least powerful role that has a permission of a plugin. */
const pluginPermissions = new Map<string, Role>();

/** For the start of a process, before its first request. */
export function declarePermissions(plugin: string, leastRoles: Readonly<Record<string, Role>>): void {
  for (const [permission, role] of Object.entries(leastRoles)) pluginPermissions.set(`${plugin}/${permission}`, role);
}

export const isPermission = (value: string): value is Permission =>
  (PERMISSIONS as readonly string[]).includes(value) || pluginPermissions.has(value);

export function can(role: Role, permission: Permission): boolean {
  const leastRole = pluginPermissions.get(permission);
  return leastRole === undefined ? GRANTS[role].has(permission) : ROLES.indexOf(role) <= ROLES.indexOf(leastRole);
}

export const SERVICE_ACCOUNT_ROLE: Role = 'member';

/** Who may have personal runs (`PERSONAL_RUNS`), from the widest to the narrowest. */
export const PERSONAL_RUNS = ['everybody', 'members', 'nobody'] as const;
type PersonalRuns = (typeof PERSONAL_RUNS)[number];

/** Whether a person with these memberships may have personal runs. `members`: needs `runs:write` on at least one team. */
export function mayHavePersonalRuns(setting: PersonalRuns, memberships: readonly { readonly role: Role }[]): boolean {
  switch (setting) {
    case 'everybody':
      return true;
    case 'members':
      return memberships.some(({ role }) => can(role, 'runs:write'));
    case 'nobody':
      return false;
  }
}
