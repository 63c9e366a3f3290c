import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { SealedPlaces, type SealedTable, SealedTablePlace } from '#platform/secrets';
import { resealServers } from '../application/mcp-secrets.js';

interface Row {
  key: string;
}

/** Of the configuration only what can hold sealed values is read and written. */
const TABLE: SealedTable<Row> = {
  name: 'runs',
  key: { column: 'id', type: 'uuid' },
  where: `config ? 'mcp_servers' AND config->>'mcp_servers' LIKE '%sealed:%'`,
  columns: [
    {
      type: 'jsonb',
      sql: `config->'mcp_servers'`,
      set: `config = jsonb_set(config, '{mcp_servers}', $2::jsonb)`,
      replace: (present, { key }, reseal) => resealServers(key, present, reseal),
    },
  ],
};

/** Credentials of the MCP servers of runs, for the change of the key. */
@Injectable()
export class RunsPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, TABLE);
  }
}
