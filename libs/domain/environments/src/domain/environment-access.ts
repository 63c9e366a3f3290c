import type { Owner } from '#platform/auth';

/** What an environment's grants and links give to those it was looked up for. */
export interface Reach {
  /** The person was granted it, or has redeemed a link. */
  readonly isGuest: boolean;
  /** Those of the teams that were granted it. */
  readonly guestTeamUids: readonly string[];
}

export interface Asker {
  /** Null: no person, but a service account or a team as such. */
  readonly userUid: string | null;
  /** Teams on which their role allows what they ask for. */
  readonly teamUids: readonly string[];
}

export const maySee = (environment: Owner & Reach, asker: Asker): boolean => mayUse(environment, asker, null);

/**
 * Whether they may have a run of `runTeamUid` (null: a personal run) work in it. What a person owns, or was shared with the
 * person, serves in all runs that the person may create; what is available through a team, in runs of that team and in
 * personal ones.
 */
export function mayUse(environment: Owner & Reach, { userUid, teamUids }: Asker, runTeamUid: string | null): boolean {
  if (userUid !== null && (environment.userUid === userUid || environment.isGuest)) return true;
  const through = [environment.teamUid, ...environment.guestTeamUids].filter(
    (teamUid) => teamUid !== null && teamUids.includes(teamUid),
  );
  return runTeamUid === null ? through.length > 0 : through.includes(runTeamUid);
}
