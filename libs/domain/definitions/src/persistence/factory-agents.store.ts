import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import type { AgentSettings } from '../domain/definition.js';

/** Who works in a factory, as its definition was applied last. */
@Injectable()
export class FactoryAgentsStore {
  constructor(private readonly database: Database) {}

  /** Uids of the identities of that name, by factory; those without one are not in it. */
  async named(name: string, factoryUids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ factory_uid: string; identity_uid: string }>(
      'SELECT factory_uid, identity_uid FROM factory_agents WHERE name = $1 AND factory_uid = ANY($2)',
      [name, factoryUids],
    );
    return new Map(rows.map((row) => [row.factory_uid, row.identity_uid]));
  }

  /** What agents of the factory start with. */
  async defaults(factoryUid: string): Promise<AgentSettings> {
    const [row] = await this.database.query<{ agent_defaults: AgentSettings }>(
      'SELECT agent_defaults FROM factory_definitions WHERE factory_uid = $1',
      [factoryUid],
    );
    return row?.agent_defaults ?? {};
  }
}
