import { type Role, ROLES } from './roles.js';

/** The most powerful role of each team that the groups of a user give. */
export function rolesOfGroups(
  groups: readonly string[],
  mapping: readonly { readonly group: string; readonly team: string; readonly role: Role }[],
): Map<string, Role> {
  const roles = new Map<string, Role>();
  for (const { group, team, role } of mapping) {
    const known = roles.get(team);
    const isHigher = known === undefined || ROLES.indexOf(role) < ROLES.indexOf(known);
    if (groups.includes(group) && isHigher) roles.set(team, role);
  }
  return roles;
}
