import type { Caller } from './principal.js';

/** Whom something belongs to: a team, or one person. */
export type Owner =
  { readonly teamUid: string; readonly userUid: null } | { readonly teamUid: null; readonly userUid: string };

/**
 * Whom something new of the caller belongs to. `team`: false makes it personal; by default it belongs to the caller's team
 * where there is one, and what a service account makes always does. Null: a team is meant, and the caller has picked none.
 */
export function ownerFor({ principal, teamUid }: Caller, team: boolean | undefined): Owner | null {
  if (principal.type === 'service_account' || (team ?? teamUid !== null))
    return teamUid === null ? null : { teamUid, userUid: null };
  return { teamUid: null, userUid: principal.uid };
}
