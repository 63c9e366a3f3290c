import type { SealedTable } from '#platform/secrets';
import { resealConfigServers } from '../application/config-secrets.js';

export interface ConfigRow {
  key: string;
}

/**
 * A table that keeps configurations in `agent_config`, by `uid`, with the values of their MCP servers sealed below
 * `ownerOf(uid)`. Only what can hold sealed values is read and written.
 */
export const configServersTable = (name: string, ownerOf: (uid: string) => string): SealedTable<ConfigRow> => ({
  name,
  key: { column: 'uid', type: 'text' },
  where: `agent_config ? 'mcp_servers'`,
  columns: [
    {
      type: 'jsonb',
      sql: `agent_config->'mcp_servers'`,
      set: `agent_config = jsonb_set(agent_config, '{mcp_servers}', $2::jsonb)`,
      replace: (present, { key }, reseal) => resealConfigServers(ownerOf(key), present, reseal),
    },
  ],
});
