import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { EnvironmentDetails } from '../domain/environment.js';
import { type EnvironmentSort, EnvironmentsStore } from '../persistence/environments.store.js';
import { listAskerOf } from './environment-permissions.js';

/** The caller's own environments, those of the teams at hand, and those shared with either. */
@Injectable()
export class ListEnvironments {
  constructor(private readonly store: EnvironmentsStore) {}

  execute(caller: Caller, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    return this.store.listFor(listAskerOf(caller, 'see'), sort);
  }
}
