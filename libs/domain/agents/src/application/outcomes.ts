import { type Caller, can, type Permission, roleIn } from '#platform/auth';
import type { Issue } from '#platform/kernel';

/** Why something of a team is not shown, changed or deleted. */
export type LookupRefusal = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };

/** Why something is not made. */
export type CreateRefusal =
  | ChangeRefusal
  /** The caller is on several teams and picked none. */
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number };

/** Why given values are not taken. */
export type ChangeRefusal =
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  /** It names what does not exist or may not be used. */
  | { readonly kind: 'not_authorized'; readonly issues: readonly Issue[] }
  | { readonly kind: 'name_taken' };

/** Whether the caller's role on this team allows it. */
export function mayOnTeam({ principal }: Caller, teamUid: string, permission: Permission): boolean {
  const role = roleIn(principal, teamUid);
  return role !== null && can(role, permission);
}
