import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor } from '#platform/auth';
import { newUid, type RejectionOf } from '#platform/kernel';
import { Database } from '#platform/persistence';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';
import { maySee } from '../domain/environment-access.js';
import { keepValues } from '../domain/masked-config.js';
import { type EnvironmentSort, EnvironmentsStore } from '../persistence/environments.store.js';
import { askerOf, listAskerOf, mayManage } from './environment-permissions.js';
import { EnvironmentReferences } from './environment-references.js';

export type EnvironmentRejection = RejectionOf<'not_found' | 'forbidden'>;
export type EnvironmentLookup =
  { readonly kind: 'found'; readonly environment: EnvironmentDetails } | EnvironmentRejection;

export type CreateEnvironmentResult =
  | { readonly kind: 'created'; readonly environment: EnvironmentDetails }
  | RejectionOf<'invalid' | 'not_accessible' | 'team_required' | 'forbidden'>;
export type UpdateEnvironmentResult =
  | { readonly kind: 'updated'; readonly environment: EnvironmentDetails }
  | RejectionOf<'invalid' | 'not_accessible'>
  | EnvironmentRejection;
export type DeleteEnvironmentResult = { readonly kind: 'deleted' } | EnvironmentRejection;

@Injectable()
export class EnvironmentsService {
  constructor(
    private readonly database: Database,
    private readonly store: EnvironmentsStore,
    private readonly references: EnvironmentReferences,
  ) {}

  /** The caller's own environments, those of the teams of the request, and those shared with either. */
  list(caller: Caller, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    return this.store.listFor(listAskerOf(caller, 'see'), sort);
  }

  /**
   * Loads an environment through the caller's permission, in one round trip. `see`: also for those with whom it was shared.
   * `manage`: its owner, or an admin or owner of its team.
   */
  async get(caller: Caller, uid: string, permission: 'see' | 'manage'): Promise<EnvironmentLookup> {
    const asker = askerOf(caller, 'see');
    const environment = await this.store.findFor(uid, asker);
    if (!environment) return { kind: 'not_found' };
    const isAllowed = permission === 'see' ? maySee(environment, asker) : mayManage(caller, environment);
    return isAllowed ? { kind: 'found', environment } : { kind: 'forbidden' };
  }

  /** Whether it was shared with the caller, or with a team of the caller. */
  async isGuest(caller: Caller, uid: string): Promise<boolean> {
    const environment = await this.store.findFor(uid, askerOf(caller, 'see'));
    return environment !== null && (environment.isGuest || environment.guestTeamUids.length > 0);
  }

  /** `team`: false makes it personal; by default it belongs to the team of the request if there is one. */
  async create(
    caller: Caller,
    { config, team }: { readonly config: EnvironmentConfig; readonly team?: boolean },
  ): Promise<CreateEnvironmentResult> {
    const { principal } = caller;
    const whose = ownerFor(caller, team);
    if (whose === null) return { kind: 'team_required' };
    const owner = { teamUid: whose.teamUid, ownerUserUid: whose.userUid };
    if (!mayManage(caller, owner)) return { kind: 'forbidden' };
    const kept = keepValues(config, {});
    if (kept.kind === 'invalid') return kept;
    const rejection = await this.references.check(owner.teamUid, config);
    if (rejection) return rejection;
    const creator = { type: principal.type, uid: principal.uid };
    return { kind: 'created', environment: await this.store.insert({ uid: newUid(), ...owner, config, creator }) };
  }

  /** Replaces the configuration. Executions that have begun continue with the configuration that they received. */
  async update(caller: Caller, uid: string, config: EnvironmentConfig): Promise<UpdateEnvironmentResult> {
    const lookup = await this.get(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    const rejection = await this.references.check(lookup.environment.teamUid, config);
    if (rejection) return rejection;
    const { type, uid: editorUid } = caller.principal;
    return this.database.transaction(async (tx): Promise<UpdateEnvironmentResult> => {
      // Of two concurrent updates the later one keeps the values that the earlier one has stored.
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'not_found' };
      const kept = keepValues(config, stored.config);
      if (kept.kind === 'invalid') return kept;
      const changes = { config: kept.config, editor: { type, uid: editorUid } };
      return { kind: 'updated', environment: await this.store.update(tx, uid, changes) };
    });
  }

  /** Deletes its grants and links too. Runs that used it keep its uid in their configuration; new runs cannot select it. */
  async delete(caller: Caller, uid: string): Promise<DeleteEnvironmentResult> {
    const lookup = await this.get(caller, uid, 'manage');
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'not_found' };
  }
}
