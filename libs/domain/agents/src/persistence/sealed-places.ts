import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { SealedPlaces, type SealedTable, SealedTablePlace } from '#platform/secrets';
import { identityOwner, registeredOwner, resealServer, resealServers } from '../application/server-secrets.js';
import type { McpServerConfig, McpServers } from '../domain/mcp-server.js';

interface Row {
  key: string;
}

const KEY = { column: 'uid', type: 'text' } as const;

const SERVERS: SealedTable<Row> = {
  name: 'mcp_servers',
  key: KEY,
  columns: [
    {
      type: 'jsonb',
      sql: 'config',
      set: 'config = $2',
      replace: (present, { key }, reseal) => resealServer(registeredOwner(key), present as McpServerConfig, reseal),
    },
  ],
};

const IDENTITIES: SealedTable<Row> = {
  name: 'agent_identities',
  key: KEY,
  where: 'mcp_servers IS NOT NULL',
  columns: [
    {
      type: 'jsonb',
      sql: 'mcp_servers',
      set: 'mcp_servers = $2',
      replace: (present, { key }, reseal) => resealServers(identityOwner(key), present as McpServers, reseal),
    },
  ],
};

/** Credentials of registered MCP servers, for the change of the key. */
@Injectable()
export class McpServersPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, SERVERS);
  }
}

/** Credentials of the MCP servers of identities, for the change of the key. */
@Injectable()
export class IdentitiesPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, IDENTITIES);
  }
}
