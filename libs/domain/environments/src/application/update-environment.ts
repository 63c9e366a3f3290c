import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Database } from '#platform/persistence';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';
import { keepValues } from '../domain/kept-values.js';
import { EnvironmentsStore } from '../persistence/environments.store.js';
import { EnvironmentReferences, type ReferenceFaults } from './environment-references.js';
import { type EnvironmentRefusal, FindEnvironment } from './find-environment.js';

export type UpdateEnvironmentResult =
  | { readonly kind: 'updated'; readonly environment: EnvironmentDetails }
  | { readonly kind: 'nothing_to_keep'; readonly names: readonly string[] }
  | Exclude<ReferenceFaults, { kind: 'none' }>
  | EnvironmentRefusal;

/** Replaces the configuration. Executions that have begun go on with the one they were given. */
@Injectable()
export class UpdateEnvironment {
  constructor(
    private readonly database: Database,
    private readonly find: FindEnvironment,
    private readonly store: EnvironmentsStore,
    private readonly references: EnvironmentReferences,
  ) {}

  async execute(caller: Caller, uid: string, config: EnvironmentConfig): Promise<UpdateEnvironmentResult> {
    const lookup = await this.find.execute(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    const referenced = await this.references.check(lookup.environment.teamUid, config);
    if (referenced.kind !== 'none') return referenced;
    const { type, uid: editorUid } = caller.principal;
    return this.database.transaction(async (tx): Promise<UpdateEnvironmentResult> => {
      // Two who change it at once: the later one keeps the values that the earlier one has set.
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'unknown' };
      const kept = keepValues(config, stored.config);
      if (kept.kind === 'nothing_to_keep') return kept;
      const changes = { config: kept.config, editor: { type, uid: editorUid } };
      return { kind: 'updated', environment: await this.store.update(tx, uid, changes) };
    });
  }
}
