import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { FindEnvironment } from './find-environment.js';

export type DeleteEnvironmentResult =
  { readonly kind: 'deleted' } | { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };

/** Runs that used it keep its uid in their configuration; new runs can no longer choose it. */
@Injectable()
export class DeleteEnvironment {
  constructor(
    private readonly find: FindEnvironment,
    private readonly store: EnvironmentsStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<DeleteEnvironmentResult> {
    const lookup = await this.find.execute(caller, uid, 'environments:write');
    if (lookup.kind !== 'found') return { kind: lookup.kind };
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'unknown' };
  }
}
