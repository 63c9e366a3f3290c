import { Injectable } from '@nestjs/common';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import type { Environment } from '../domain/environment.js';
import { type Asker, maySee, mayUse } from '../domain/environment-access.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf, listAskerOf, teamsWhere } from './environment-permissions.js';

/** Whose run is to work in an environment. */
export interface EnvironmentUse {
  /** The team that owns the run; null: a person's own. */
  readonly teamUid: string | null;
  /** Null: whoever it is; then only what belongs to the team, or was shared with it, will do. */
  readonly caller: Caller | null;
}

/** A run that is there already. */
export interface RunInEnvironment {
  readonly teamUid: string | null;
  /** The person whose own run it is; null for a team's. */
  readonly userUid: string | null;
  readonly creatorUid: string;
}

/** What other rooms may ask about environments. */
export abstract class EnvironmentDirectory {
  /** With its env values in clear: for the runner, never for a response. `queryable`: the caller's transaction. */
  abstract find(uid: string, queryable?: Queryable): Promise<Environment | null>;
  /** Null also when there is one that the caller may not see. One round trip. */
  abstract findVisible(uid: string, caller: Caller): Promise<Environment | null>;
  /** Null also when there is one that runs of this kind may not use. One round trip. */
  abstract findUsable(uid: string, use: EnvironmentUse, queryable?: Queryable): Promise<Environment | null>;
  /**
   * The environment of a run that is about to be executed, if it still exists and the run's owner or creator may still use
   * it: both may have lost their role on a team, or be disabled. At most three round trips.
   */
  abstract findForRun(uid: string, run: RunInEnvironment): Promise<Environment | null>;
  /**
   * What the caller owns, has through the teams of the request, was granted or reached by a link, where they may do this;
   * at most 2,000, by name.
   */
  abstract list(caller: Caller, act: 'see' | 'use'): Promise<Environment[]>;
  /** How the last set-up of this environment went; shown in the list. */
  abstract noteSetup(uid: string, failed: boolean): Promise<void>;
}

@Injectable()
export class StoredEnvironmentDirectory extends EnvironmentDirectory {
  constructor(
    private readonly store: EnvironmentsStore,
    private readonly principals: PrincipalDirectory,
  ) {
    super();
  }

  override async find(uid: string, queryable?: Queryable): Promise<Environment | null> {
    return isUid(uid) ? this.store.find(uid, queryable) : null;
  }

  override findUsable(
    uid: string,
    { teamUid, caller }: EnvironmentUse,
    queryable?: Queryable,
  ): Promise<Environment | null> {
    const team = { userUid: null, teamUids: teamUid === null ? [] : [teamUid] };
    return this.findIfUsable(uid, caller ? askerOf(caller, 'use') : team, teamUid, queryable);
  }

  override async findVisible(uid: string, caller: Caller): Promise<Environment | null> {
    const asker = askerOf(caller, 'see');
    const environment = isUid(uid) ? await this.store.findFor(uid, asker) : null;
    return environment && maySee(environment, asker) ? environment : null;
  }

  override async findForRun(uid: string, run: RunInEnvironment): Promise<Environment | null> {
    const { teamUid, userUid, creatorUid } = run;
    const ofTeam = teamUid === null ? null : await this.findUsable(uid, { teamUid, caller: null });
    if (ofTeam) return ofTeam;
    const memberships = await this.principals.membershipsOf(userUid ?? creatorUid);
    if (!memberships) return null;
    const teamUids = userUid === null ? [] : teamsWhere('use', memberships);
    return this.findIfUsable(uid, { userUid: userUid ?? creatorUid, teamUids }, teamUid);
  }

  override list(caller: Caller, act: 'see' | 'use'): Promise<Environment[]> {
    return this.store.listFor(listAskerOf(caller, act), 'name');
  }

  override noteSetup(uid: string, failed: boolean): Promise<void> {
    return this.store.setSetupFailed(uid, failed);
  }

  private async findIfUsable(
    uid: string,
    asker: Asker,
    teamUid: string | null,
    queryable?: Queryable,
  ): Promise<Environment | null> {
    const environment = isUid(uid) ? await this.store.findFor(uid, asker, queryable) : null;
    return environment && mayUse(environment, asker, teamUid) ? environment : null;
  }
}
