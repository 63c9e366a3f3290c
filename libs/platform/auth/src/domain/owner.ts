import { type Caller, roleIn } from './principal.js';
import { can, type Permission } from './roles.js';

export type Owner =
  | { readonly teamUid: string; readonly userUid: null }
  | { readonly teamUid: null; readonly userUid: string };

/**
 * The owner of a new resource of the caller: by default the team of the caller if there is one, with `team: false` the user.
 * The resources of a service account always belong to its team. Null when a team is needed and the caller has chosen none.
 */
export function ownerFor({ principal, teamUid }: Caller, team: boolean | undefined): Owner | null {
  if (principal.type === 'service_account' || (team ?? teamUid !== null))
    return teamUid === null ? null : { teamUid, userUid: null };
  return { teamUid: null, userUid: principal.uid };
}

/** Callers whose permission was decided on a resource, so that an operation that forgot to decide it can be rejected. */
const decided = new WeakMap<Caller, Owner | null>();

/**
 * Whether the caller has a permission, by default that of the operation, on what the owner owns: a user on everything
 * personal, any caller by the role on the team. The team header narrows lists, not this.
 */
export function isAllowed(caller: Caller, owner: Owner, permission: Permission = caller.permission): boolean {
  if (permission === caller.permission) decided.set(caller, owner);
  const { principal } = caller;
  if (owner.teamUid === null) return principal.type === 'user' && principal.uid === owner.userUid;
  const role = roleIn(principal, owner.teamUid);
  return role !== null && can(role, permission);
}

/** Whichever team is chosen, and by default for the permission of the operation: for queries by owner. */
export function allowedTeams(caller: Caller, permission: Permission = caller.permission): string[] {
  if (permission === caller.permission) decided.set(caller, null);
  return caller.principal.memberships.filter(({ role }) => can(role, permission)).map(({ teamUid }) => teamUid);
}

/** Whether the caller administers the installation, and with it all teams and users. */
export function allowAsAdministrator(caller: Caller): boolean {
  decided.set(caller, decidedOwner(caller));
  return caller.principal.isAdministrator === true;
}

/** For an operation that needs no permission on the resource, because the caller proves the right to it by a secret. */
export function allowByPossession(caller: Caller, owner: Owner): void {
  decided.set(caller, owner);
}

/** The owner for which {@link isAllowed} decided the permission of the operation last; null: another decision, or none. */
export const decidedOwner = (caller: Caller): Owner | null => decided.get(caller) ?? null;

export const isDecided = (value: unknown): boolean => decided.has(value as Caller);
