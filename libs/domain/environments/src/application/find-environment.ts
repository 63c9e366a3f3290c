import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { EnvironmentDetails } from '../domain/environment.js';
import { maySee } from '../domain/environment-access.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf, mayManage } from './environment-permissions.js';

export type EnvironmentRefusal = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };
export type EnvironmentLookup =
  { readonly kind: 'found'; readonly environment: EnvironmentDetails } | EnvironmentRefusal;

/** Loads an environment through the caller's permission. One round trip. */
@Injectable()
export class FindEnvironment {
  constructor(private readonly store: EnvironmentsStore) {}

  /** `see`: also for those with whom it was shared. `manage`: its owner, or an admin or owner of its team. */
  async execute(caller: Caller, uid: string, wants: 'see' | 'manage'): Promise<EnvironmentLookup> {
    const asker = askerOf(caller, 'see');
    const environment = await this.store.findFor(uid, asker);
    if (!environment) return { kind: 'unknown' };
    const isAllowed = wants === 'see' ? maySee(environment, asker) : mayManage(caller, environment);
    return isAllowed ? { kind: 'found', environment } : { kind: 'not_yours' };
  }

  /** Whether it was shared with the caller, or with a team of theirs. */
  async isGuest(caller: Caller, uid: string): Promise<boolean> {
    const environment = await this.store.findFor(uid, askerOf(caller, 'see'));
    return environment !== null && (environment.isGuest || environment.guestTeamUids.length > 0);
  }
}
