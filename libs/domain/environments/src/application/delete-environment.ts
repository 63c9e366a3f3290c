import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { type EnvironmentRefusal, FindEnvironment } from './find-environment.js';

export type DeleteEnvironmentResult = { readonly kind: 'deleted' } | EnvironmentRefusal;

/** Its grants and links go with it. Runs that used it keep its uid in their configuration; new runs cannot choose it. */
@Injectable()
export class DeleteEnvironment {
  constructor(
    private readonly find: FindEnvironment,
    private readonly store: EnvironmentsStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<DeleteEnvironmentResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind !== 'found') return { kind: lookup.kind };
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'unknown' };
  }
}
