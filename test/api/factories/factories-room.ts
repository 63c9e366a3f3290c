import { type CreateFactoryCommand, FactoriesService } from '#domain/factories';
import { startTestApi, type TestApi } from '#testing';
import { type AgentsRoom, openRoom } from '../agents/agents-room.js';

export interface FactoriesRoom extends AgentsRoom {
  readonly api: TestApi;
  /** A new factory of the team unless another is named. */
  newFactory(fields?: Partial<CreateFactoryCommand>): Promise<string>;
  /** Makes an agent identity of the team the foreman of a factory, as an applied definition does. */
  newForeman(factory: string, fields?: object): Promise<string>;
  /** What the applied definition of a factory says its agents start with. */
  setDefaults(factory: string, defaults: object): Promise<void>;
}

let made = 0;

export async function openFactoriesRoom(): Promise<FactoriesRoom> {
  const api = await startTestApi({ settings: { publicUrl: 'https://headrace.example.com' } });
  const room = await openRoom(api);
  return {
    ...room,
    api,
    newFactory: async (fields = {}) => {
      const command = { teamUid: room.team, name: 'Factory', ...fields };
      const result = await api.app.get(FactoriesService, { strict: false }).create(command);
      if (result.kind !== 'created') throw new Error(`No factory was made: ${result.kind}.`);
      return result.factory.uid;
    },
    newForeman: async (factory, fields = {}) => {
      const body = { name: `foreman-${(made += 1)}`, ...fields };
      const { uid } = (await api.request(201, 'POST /agent/identities', { token: room.admin.token, body })).body;
      await api.database.query('INSERT INTO factory_agents (factory_uid, name, identity_uid) VALUES ($1, $2, $3)', [
        ...[factory, 'foreman', uid],
      ]);
      return uid as string;
    },
    setDefaults: async (factory, defaults) => {
      await api.database.query(
        `INSERT INTO factory_definitions (factory_uid, agent_defaults, applied_by_type, applied_by_uid)
         VALUES ($1, $2, 'user', $3)`,
        [factory, JSON.stringify(defaults), room.admin.uid],
      );
    },
  };
}
