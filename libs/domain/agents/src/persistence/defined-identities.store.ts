import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { DefinedIdentity } from '../domain/defined-identity.js';
import { IdentitiesStore } from './identities.store.js';

/** Identities as definitions see them. */
@Injectable()
export class DefinedIdentitiesStore {
  constructor(private readonly identities: IdentitiesStore) {}

  /** In one order for all who lock several. */
  async find(tx: Queryable, teamUid: string, uids: readonly string[], held: boolean): Promise<DefinedIdentity[]> {
    const found: DefinedIdentity[] = [];
    for (const uid of [...uids].sort()) {
      const identity = await (held ? this.identities.lock(tx, uid) : this.identities.find(uid, tx));
      if (identity?.teamUid === teamUid) found.push(identity);
    }
    return found;
  }

  async count(tx: Queryable, teamUid: string): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM headrace.agent_identities WHERE team_uid = $1',
      [teamUid],
    );
    return row?.count ?? 0;
  }

  /** Until they get names again, they are called by their uids. */
  async freeNames(tx: Queryable, teamUid: string, uids: readonly string[]): Promise<void> {
    await tx.query('UPDATE headrace.agent_identities SET name = uid WHERE team_uid = $1 AND uid = ANY($2::text[])', [
      teamUid,
      uids,
    ]);
  }
}
