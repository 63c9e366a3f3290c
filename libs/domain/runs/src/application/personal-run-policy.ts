import { Injectable } from '@nestjs/common';
import { type Caller, can, mayHavePersonalRuns, PrincipalDirectory, type PrincipalRef } from '#platform/auth';
import { Settings } from '#platform/config';
import type { RunOwner } from '#execution/executions';
import type { AssignedRun } from '../persistence/runs.store.js';

export const PERSONAL_RUNS_REFUSED = {
  members:
    'Personal runs need a role on a team that allows creating runs: member, admin or owner (setting PERSONAL_RUNS).',
  nobody: 'Personal runs are switched off (setting PERSONAL_RUNS): create the run for a team.',
} as const;

/** As {@link AssignedRun}. */
interface RequestedRun extends Pick<AssignedRun, 'externalExecutor' | 'requestedAt'> {
  readonly run: { readonly owner: RunOwner };
}

/** Who may have personal runs: created, scheduled or continued. Reading and cancelling one's own needs nothing. */
@Injectable()
export class PersonalRunPolicy {
  constructor(
    private readonly settings: Settings,
    private readonly principals: PrincipalDirectory,
  ) {}

  /** Why the caller may start no work for this owner, or null. No round trip. */
  refusal({ principal }: Caller, { teamUid }: RunOwner): string | null {
    const { personalRuns } = this.settings;
    if (teamUid !== null || mayHavePersonalRuns(personalRuns, principal.memberships)) return null;
    return PERSONAL_RUNS_REFUSED[personalRuns === 'nobody' ? 'nobody' : 'members'];
  }

  /**
   * Whether the run may be executed now. A personal one while its owner may have personal runs, a team's always; one that a principal
   * executes on another machine while the principal may create runs of the team. At most one round trip, none for hosted runs of a team.
   */
  async mayBegin({ run, externalExecutor, requestedAt }: RequestedRun): Promise<boolean> {
    const { teamUid, userUid } = run.owner;
    const executor: PrincipalRef | null = userUid === null ? externalExecutor : { type: 'user', uid: userUid };
    if (executor === null) return true;
    const caller = await this.principals.callerNow(executor, teamUid, requestedAt);
    if (caller === null) return false;
    const { memberships } = caller.principal;
    if (teamUid === null) return mayHavePersonalRuns(this.settings.personalRuns, memberships);
    return memberships.some((membership) => membership.teamUid === teamUid && can(membership.role, 'runs:write'));
  }
}
