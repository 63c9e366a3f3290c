import { Injectable } from '@nestjs/common';
import { Database } from '#libs/persistence';
import { resealConfigServers } from '#libs/runs';
import { SealedPlaces, type SealedTable, SealedTablePlace } from '#libs/secrets';
import { secretsOf } from '../domain/schedule.js';

interface Row {
  key: string;
}

/** Of the configuration only what can hold sealed values is read and written. */
const TABLE: SealedTable<Row> = {
  name: 'schedules',
  key: { column: 'uid', type: 'text' },
  where: `agent_config ? 'mcp_servers'`,
  columns: [
    {
      type: 'jsonb',
      sql: `agent_config->'mcp_servers'`,
      set: `agent_config = jsonb_set(agent_config, '{mcp_servers}', $2::jsonb)`,
      replace: (present, { key }, reseal) => resealConfigServers(secretsOf(key), present, reseal),
    },
  ],
};

/** Credentials of the MCP servers of schedules, for the change of the key. */
@Injectable()
export class SchedulesPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, TABLE);
  }
}
