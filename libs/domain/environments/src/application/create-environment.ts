import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor } from '#platform/auth';
import { newUid } from '#platform/kernel';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';
import { keepValues } from '../domain/kept-values.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { EnvironmentReferences, type ReferenceFaults } from './environment-references.js';
import { mayManage } from './environment-permissions.js';

export type CreateEnvironmentResult =
  | { readonly kind: 'created'; readonly environment: EnvironmentDetails }
  /** Asked for a team's environment without saying of which team. */
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'nothing_to_keep'; readonly names: readonly string[] }
  | Exclude<ReferenceFaults, { kind: 'none' }>
  | { readonly kind: 'not_yours' };

@Injectable()
export class CreateEnvironment {
  constructor(
    private readonly store: EnvironmentsStore,
    private readonly references: EnvironmentReferences,
  ) {}

  /** `team`: false makes it personal; by default it belongs to the caller's team where there is one. */
  async execute(
    caller: Caller,
    { config, team }: { readonly config: EnvironmentConfig; readonly team?: boolean },
  ): Promise<CreateEnvironmentResult> {
    const { principal } = caller;
    const whose = ownerFor(caller, team);
    if (whose === null) return { kind: 'team_needed' };
    const owner = { teamUid: whose.teamUid, ownerUserUid: whose.userUid };
    if (!mayManage(caller, owner)) return { kind: 'not_yours' };
    const kept = keepValues(config, {});
    if (kept.kind === 'nothing_to_keep') return kept;
    const referenced = await this.references.check(owner.teamUid, config);
    if (referenced.kind !== 'none') return referenced;
    const creator = { type: principal.type, uid: principal.uid };
    return { kind: 'created', environment: await this.store.insert({ uid: newUid(), ...owner, config, creator }) };
  }
}
