import { Injectable } from '@nestjs/common';
import { SERVER_VALUES, serverPurpose } from '#domain/agents';
import type { AgentConfig } from '#execution/executions';
import { type EncryptedColumn, encryptedColumn, SecretBox } from '#platform/secrets';

/** Values of runs from before encryption are in clear, without the prefix. */
const RUN_SERVERS = encryptedColumn({
  table: 'runs',
  key: { column: 'id', type: 'uuid' },
  context: ['id'],
  column: 'config',
  json: { path: 'mcp_servers', values: SERVER_VALUES, prefix: 'sealed:' },
  purpose: ({ id }) => `run/${id}/mcp-servers`,
});

export const RUNS_ENCRYPTED_COLUMNS = [RUN_SERVERS];

/** A column `agent_config` of a table with the key `uid`, whose values `ConfigSecrets` seals for `ownerOf(uid)`. */
export const agentConfigColumn = (table: string, ownerOf: (uid: string) => string): EncryptedColumn<'uid'> => ({
  table,
  key: { column: 'uid', type: 'text' },
  context: ['uid'],
  column: 'agent_config',
  json: { path: 'mcp_servers', values: SERVER_VALUES },
  purpose: ({ uid }, pointer) => serverPurpose(ownerOf(uid), pointer),
});

/** Encrypts `env` and `headers` of the MCP servers of runs: they often hold credentials. */
@Injectable()
export class McpSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(runId: string, config: AgentConfig): AgentConfig {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return config;
    return { ...config, mcp_servers: this.box.sealColumn(RUN_SERVERS, { id: runId }, servers) };
  }

  open(runId: string, config: AgentConfig): AgentConfig {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return config;
    return { ...config, mcp_servers: this.box.openColumn(RUN_SERVERS, { id: runId }, servers) };
  }
}
