import { Injectable } from '@nestjs/common';
import { type Sealing, SERVER_VALUES, serverPurpose, ServerSecrets } from '#domain/agents';
import type { AgentConfig } from '#execution/executions';
import { type EncryptedColumn, encryptedColumn, SecretBox } from '#platform/secrets';

type Servers = NonNullable<AgentConfig['mcp_servers']>;

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

/** Each value is encrypted for its run, or for the `owner` of a configuration that another library stores. */
@Injectable()
export class ConfigSecrets {
  constructor(
    private readonly servers: ServerSecrets,
    private readonly box: SecretBox,
  ) {}

  /**
   * Encrypts every value. `***`, which is what responses show, keeps the value of `stored`, but only for a server of which
   * nothing else changes. Pointers of issues begin with `/agent_config`.
   */
  seal(owner: string, config: AgentConfig, stored: AgentConfig | null): Sealing<AgentConfig> {
    const { mcp_servers: servers } = config;
    if (servers === undefined) return { kind: 'sealed', value: config };
    const sealing = this.servers.sealAll(owner, servers, stored?.mcp_servers ?? null, '/agent_config/mcp_servers');
    return sealing.kind === 'invalid'
      ? sealing
      : { kind: 'sealed', value: { ...config, mcp_servers: { ...sealing.value } } };
  }

  /** In clear, for the runs that are started with it; never for a response. */
  open(owner: string, config: AgentConfig): AgentConfig {
    return withServers(config, (servers) => this.servers.openAll(owner, servers));
  }

  sealForRun(id: string, config: AgentConfig): AgentConfig {
    return withServers(config, (servers) => this.box.sealColumn(RUN_SERVERS, { id }, servers));
  }

  openForRun(id: string, config: AgentConfig): AgentConfig {
    return withServers(config, (servers) => this.box.openColumn(RUN_SERVERS, { id }, servers));
  }
}

const withServers = (config: AgentConfig, change: (servers: Servers) => Servers): AgentConfig =>
  config.mcp_servers === undefined ? config : { ...config, mcp_servers: change(config.mcp_servers) };
