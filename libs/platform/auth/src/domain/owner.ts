import type { Caller } from './principal.js';

/** The owner of a resource: a team or a user. */
export type Owner =
  { readonly teamUid: string; readonly userUid: null } | { readonly teamUid: null; readonly userUid: string };

/**
 * The owner of a new resource of the caller: by default the team of the caller if there is one, with `team: false` the user.
 * The resources of a service account always belong to its team. Null when a team is needed and the caller has chosen none.
 */
export function ownerFor({ principal, teamUid }: Caller, team: boolean | undefined): Owner | null {
  if (principal.type === 'service_account' || (team ?? teamUid !== null))
    return teamUid === null ? null : { teamUid, userUid: null };
  return { teamUid: null, userUid: principal.uid };
}
