import { Injectable } from '@nestjs/common';
import type { Caller, Permission } from '#libs/auth';
import type { EnvironmentDetails } from '../domain/environment.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { mayOnEnvironment } from './environment-directory.js';

export type EnvironmentLookup =
  | { readonly kind: 'found'; readonly environment: EnvironmentDetails }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' };

/** Loads an environment through the caller's permission. */
@Injectable()
export class FindEnvironment {
  constructor(private readonly store: EnvironmentsStore) {}

  async execute(caller: Caller, uid: string, permission: Permission): Promise<EnvironmentLookup> {
    const environment = await this.store.find(uid);
    if (!environment) return { kind: 'unknown' };
    return mayOnEnvironment(caller, environment, permission) ? { kind: 'found', environment } : { kind: 'not_yours' };
  }
}
