import { type Caller, can, type Permission, roleIn } from '#platform/auth';

/** Why something of a team is not shown, changed or deleted. */
export type LookupRefusal = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };
/** `rule` completes "`url` …". */
export type BadUrl = { readonly kind: 'bad_url'; readonly rule: string };
export type Refusal =
  | LookupRefusal
  | BadUrl
  /** The caller is on several teams and picked none. */
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | { readonly kind: 'test_pending' }
  | { readonly kind: 'bad_cursor' };

/** Whether the caller's role on this team allows it. */
export function mayOnTeam({ principal }: Caller, teamUid: string, permission: Permission): boolean {
  const role = roleIn(principal, teamUid);
  return role !== null && can(role, permission);
}
