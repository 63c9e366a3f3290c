import { Injectable } from '@nestjs/common';
import { type Caller, type Permission, PrincipalDirectory } from '#platform/auth';
import { isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import type { Environment } from '../domain/environment.js';
import { type Asker, maySee, mayUse } from '../domain/environment-access.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf, listAskerOf, teamsWith } from './environments.service.js';

export interface EnvironmentUse {
  /** The team that owns the run; null: a person's own. */
  readonly teamUid: string | null;
  /** Null: no particular caller; then only environments that belong to the team, or were shared with it, are usable. */
  readonly caller: Caller | null;
}

export interface RunInEnvironment {
  readonly teamUid: string | null;
  /** The person whose own run it is; null for a team's. */
  readonly userUid: string | null;
  readonly creatorUid: string;
}

const memberOf = (caller: Caller, permission: Permission) =>
  askerOf(caller, teamsWith(permission, caller.principal.memberships));

@Injectable()
export class EnvironmentDirectory {
  constructor(
    private readonly store: EnvironmentsStore,
    private readonly principals: PrincipalDirectory,
  ) {}

  /** With its env values in clear: for the runner, never for a response. `queryable`: the caller's transaction. */
  async find(uid: string, queryable?: Queryable): Promise<Environment | null> {
    return isUid(uid) ? ((await this.store.find(uid, queryable)) ?? null) : null;
  }

  /** Null also for an environment that runs of this kind may not use. One round trip. */
  findUsable(uid: string, { teamUid, caller }: EnvironmentUse, queryable?: Queryable): Promise<Environment | null> {
    const team = { userUid: null, teamUids: teamUid === null ? [] : [teamUid] };
    return this.findIfUsable(uid, caller ? memberOf(caller, 'runs:write') : team, teamUid, queryable);
  }

  /** Null also for an environment that the caller may not see. One round trip. */
  async findVisible(uid: string, caller: Caller): Promise<Environment | null> {
    const asker = memberOf(caller, 'environments:read');
    const environment = isUid(uid) && (await this.store.findFor(uid, asker));
    return environment && maySee(environment, asker) ? environment : null;
  }

  /**
   * The environment of a run that is about to be executed, if it still exists and the run's owner or creator may still use
   * it: both may have lost their role on a team, or be disabled. At most three round trips.
   */
  async findForRun(uid: string, run: RunInEnvironment): Promise<Environment | null> {
    const { teamUid, userUid, creatorUid } = run;
    const ofTeam = teamUid === null ? null : await this.findUsable(uid, { teamUid, caller: null });
    if (ofTeam) return ofTeam;
    const memberships = await this.principals.membershipsOf(userUid ?? creatorUid);
    if (!memberships) return null;
    const working = teamsWith('runs:write', memberships);
    if (teamUid !== null && !working.includes(teamUid)) return null;
    const teamUids = userUid === null ? [] : working;
    return this.findIfUsable(uid, { userUid: userUid ?? creatorUid, teamUids }, teamUid);
  }

  /**
   * What the caller owns, has through the teams of the request, was granted or reached by a link, where they have the permission;
   * at most 2,000, by name.
   */
  list(caller: Caller, permission: 'environments:read' | 'runs:write'): Promise<Environment[]> {
    return this.store.listFor(listAskerOf(caller, permission), 'name');
  }

  noteSetup(uid: string, failed: boolean): Promise<void> {
    return this.store.setSetupFailed(uid, failed);
  }

  private async findIfUsable(
    uid: string,
    asker: Asker,
    teamUid: string | null,
    queryable?: Queryable,
  ): Promise<Environment | null> {
    const environment = isUid(uid) && (await this.store.findFor(uid, asker, queryable));
    return environment && mayUse(environment, asker, teamUid) ? environment : null;
  }
}
