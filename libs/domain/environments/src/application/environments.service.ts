import { Injectable } from '@nestjs/common';
import { allowedTeams, type Caller, can, isAllowed, type Membership, ownerFor, type Permission } from '#platform/auth';
import { newUid, type RejectionOf } from '#platform/kernel';
import { Database, isBelowOwnerLimit } from '#platform/persistence';
import {
  type EnvironmentConfig,
  type EnvironmentDetails,
  MAX_CONFIG_BYTES,
  MAX_ENVIRONMENTS,
} from '../domain/environment.js';
import { type Asker, maySee, type Reach } from '../domain/environment-access.js';
import { keepValues } from '../domain/masked-config.js';
import { type EnvironmentSort, EnvironmentsStore } from '../persistence/environments.store.js';
import { EnvironmentReferences } from './environment-references.js';

export type EnvironmentRejection = RejectionOf<'not_found' | 'forbidden'>;
type InputRejection = RejectionOf<'invalid' | 'not_accessible'>;

@Injectable()
export class EnvironmentsService {
  constructor(
    private readonly database: Database,
    private readonly store: EnvironmentsStore,
    private readonly references: EnvironmentReferences,
  ) {}

  list(caller: Caller, sort: EnvironmentSort): Promise<EnvironmentDetails[]> {
    return this.store.listFor(listAskerOf(caller, 'environments:read'), sort);
  }

  /** Users and teams with a grant can read the environment too. One round trip. */
  async get(caller: Caller, uid: string): Promise<(EnvironmentDetails & Reach) | EnvironmentRejection> {
    const asker = askerOf(caller, allowedTeams(caller));
    const environment = await this.store.findFor(uid, asker);
    if (!environment) return { kind: 'not_found' };
    return maySee(environment, asker) ? environment : { kind: 'forbidden' };
  }

  /** Only for its owner: a person, or the admins and owners of a team. One round trip. */
  async getManaged(caller: Caller, uid: string): Promise<EnvironmentDetails | EnvironmentRejection> {
    const environment = await this.store.find(uid);
    if (!environment) return { kind: 'not_found' };
    return isAllowed(caller, environment) ? environment : { kind: 'forbidden' };
  }

  /** `team`: false makes it personal; by default it belongs to the team of the request if there is one. */
  async create(
    caller: Caller,
    { config, team }: { readonly config: EnvironmentConfig; readonly team?: boolean },
  ): Promise<EnvironmentDetails | InputRejection | RejectionOf<'forbidden' | 'limit_reached'>> {
    const owner = ownerFor(caller, team);
    if (owner === null) return { kind: 'invalid', issues: [{ pointer: '/team', detail: 'requires the team header' }] };
    if (!isAllowed(caller, owner)) return { kind: 'forbidden' };
    const kept = keepValues(config, {});
    if (kept.kind === 'invalid') return kept;
    const rejection = await this.references.check(owner.teamUid, config);
    if (rejection) return rejection;
    return this.database.transaction(async (tx) => {
      if (!(await isBelowOwnerLimit(tx, 'environments', owner, MAX_ENVIRONMENTS)))
        return { kind: 'limit_reached', limit: MAX_ENVIRONMENTS };
      return (await this.store.insert(tx, newUid(), owner, config, caller.principal)) ?? TOO_LARGE;
    });
  }

  async update(
    caller: Caller,
    uid: string,
    config: EnvironmentConfig,
  ): Promise<EnvironmentDetails | InputRejection | EnvironmentRejection> {
    const environment = await this.getManaged(caller, uid);
    if ('kind' in environment) return environment;
    const rejection = await this.references.check(environment.teamUid, config);
    if (rejection) return rejection;
    return this.database.transaction(async (tx) => {
      // Of two concurrent updates the later one keeps the values that the earlier one has stored.
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'not_found' };
      const kept = keepValues(config, stored.config);
      if (kept.kind === 'invalid') return kept;
      return (await this.store.update(tx, uid, kept.config, caller.principal)) ?? TOO_LARGE;
    });
  }

  async delete(caller: Caller, uid: string): Promise<{ readonly deleted: true } | EnvironmentRejection> {
    const environment = await this.getManaged(caller, uid);
    if ('kind' in environment) return environment;
    return (await this.store.delete(uid)) ? { deleted: true } : { kind: 'not_found' };
  }
}

const TOO_LARGE: InputRejection = {
  kind: 'invalid',
  issues: [{ pointer: '/config', detail: `must not exceed ${MAX_CONFIG_BYTES} bytes as JSON` }],
};

export const askerOf = ({ principal: { type, uid } }: Caller, teamUids: readonly string[]): Asker => ({
  userUid: type === 'user' ? uid : null,
  teamUids,
});

export const teamsWith = (permission: Permission, memberships: readonly Membership[]): string[] =>
  memberships.filter(({ role }) => can(role, permission)).map(({ teamUid }) => teamUid);

export const listAskerOf = (caller: Caller, permission: Permission): Asker =>
  askerOf(
    caller,
    teamsWith(permission, caller.principal.memberships).filter((teamUid) => caller.teamUids.includes(teamUid)),
  );
