import { Injectable } from '@nestjs/common';
import { type Caller, can, type Permission, roleIn } from '#libs/auth';
import { isUid } from '#libs/kernel';
import type { Queryable } from '#libs/persistence';
import type { Environment } from '../domain/environment.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';

type Owned = Pick<Environment, 'teamUid' | 'ownerUserUid'>;

/** Whether the caller may do this with an environment: one's own, or by one's role on its team. */
export function mayOnEnvironment(
  { principal }: Caller,
  { teamUid, ownerUserUid }: Owned,
  permission: Permission,
): boolean {
  if (teamUid === null) return principal.type === 'user' && principal.uid === ownerUserUid;
  const role = roleIn(principal, teamUid);
  return role !== null && can(role, permission);
}

/** What other rooms may ask about environments. */
export abstract class EnvironmentDirectory {
  /** With its env values in clear: for the runner, never for a response. `queryable`: the caller's transaction. */
  abstract find(uid: string, queryable?: Queryable): Promise<Environment | null>;
  abstract isVisibleTo(environment: Owned, caller: Caller): boolean;
  /** Whether a run of `teamUid` (null: a personal run) may use it: one's own everywhere, a team's in runs of that team or one's own. */
  abstract isUsableBy(environment: Owned, caller: Caller, teamUid: string | null): boolean;
  /** How the last set-up of this environment went; shown in the list. */
  abstract noteSetup(uid: string, failed: boolean): Promise<void>;
}

@Injectable()
export class StoredEnvironmentDirectory extends EnvironmentDirectory {
  constructor(private readonly store: EnvironmentsStore) {
    super();
  }

  override async find(uid: string, queryable?: Queryable): Promise<Environment | null> {
    return isUid(uid) ? this.store.find(uid, queryable) : null;
  }

  override isVisibleTo(environment: Owned, caller: Caller): boolean {
    return mayOnEnvironment(caller, environment, 'environments:read');
  }

  override isUsableBy(environment: Owned, caller: Caller, teamUid: string | null): boolean {
    if (!this.isVisibleTo(environment, caller)) return false;
    return environment.teamUid === null || teamUid === null || environment.teamUid === teamUid;
  }

  override noteSetup(uid: string, failed: boolean): Promise<void> {
    return this.store.setSetupFailed(uid, failed);
  }
}
