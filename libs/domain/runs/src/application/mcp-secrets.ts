import { Injectable } from '@nestjs/common';
import { SecretBox } from '#platform/secrets';
import { mapServerSecrets } from '../domain/resolve-config.js';
import type { AgentConfig } from '#execution/executions';

/** What a run's MCP servers are given in `env` and `headers` is often a credential: it lies in the table sealed. */
@Injectable()
export class McpSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(runId: string, config: AgentConfig): AgentConfig {
    return mapServerSecrets(config, (value) => `${MARK}${this.box.seal(value, context(runId))}`);
  }

  /** Values of runs from before sealing lie in clear, without the mark. */
  open(runId: string, config: AgentConfig): AgentConfig {
    return mapServerSecrets(config, (value) =>
      value.startsWith(MARK) ? this.box.open(value.slice(MARK.length), context(runId)) : value,
    );
  }
}

/** A run's `mcp_servers` as stored, with every sealed value replaced by what `reseal` returns. */
export function resealServers(
  runId: string,
  stored: unknown,
  reseal: (sealed: string, context: string) => string,
): AgentConfig['mcp_servers'] {
  const config = { mcp_servers: stored } as AgentConfig;
  return mapServerSecrets(config, (value) =>
    value.startsWith(MARK) ? `${MARK}${reseal(value.slice(MARK.length), context(runId))}` : value,
  ).mcp_servers;
}

const MARK = 'sealed:';
const context = (runId: string): string => `run/${runId}/mcp-servers`;
