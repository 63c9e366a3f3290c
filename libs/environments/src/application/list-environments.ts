import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import type { EnvironmentDetails } from '../domain/environment.js';
import { type EnvironmentSort, EnvironmentsStore } from '../persistence/environments.store.js';

/** The caller's own environments and those of the teams at hand. */
@Injectable()
export class ListEnvironments {
  constructor(private readonly store: EnvironmentsStore) {}

  execute(caller: Caller, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    const userUid = caller.principal.type === 'user' ? caller.principal.uid : null;
    return this.store.listFor({ teamUids: caller.teamUids, userUid }, sort);
  }
}
