import { newUid } from '#platform/kernel';
import type { TestDatabase } from './database/test-database.js';

export interface FactoryShape {
  readonly teamUid: string;
  readonly name?: string;
  readonly description?: string;
  readonly alias?: string;
}

/** Factories straight into the database, as the command line and an applied definition write them. */
export class FactoryBuilder {
  constructor(private readonly database: Pick<TestDatabase, 'query'>) {}

  /** Returns its uid. */
  async build({ teamUid, name = 'Factory', description = '', alias }: FactoryShape): Promise<string> {
    const uid = newUid();
    await this.database.query(
      'INSERT INTO headrace.factories (uid, team_uid, name, description, alias) VALUES ($1, $2, $3, $4, $5)',
      [uid, teamUid, name, description, alias ?? null],
    );
    return uid;
  }

  /** Makes an agent identity of the team an agent of the factory. */
  async addAgent(factoryUid: string, name: string, identityUid: string): Promise<void> {
    await this.database.query(
      'INSERT INTO headrace.factory_agents (factory_uid, name, identity_uid) VALUES ($1, $2, $3)',
      [factoryUid, name, identityUid],
    );
  }

  /** The configuration that the runs of the factory's agents start with. */
  async setAgentDefaults(factoryUid: string, defaults: object, appliedByUserUid: string): Promise<void> {
    await this.database.query(
      `INSERT INTO headrace.factory_definitions (factory_uid, agent_defaults, applied_by_type, applied_by_uid)
       VALUES ($1, $2, 'user', $3)`,
      [factoryUid, JSON.stringify(defaults), appliedByUserUid],
    );
  }
}
