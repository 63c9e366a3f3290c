import { readFileSync } from 'node:fs';
import { type OptionValues, required, UsageError } from '../cli/command.js';
import type { OWNER_OPTIONS, RUN_CONFIG_OPTIONS } from '../cli/shared-options.js';

const STANDARD_INPUT = 0;

export type RunConfigValues = OptionValues<typeof RUN_CONFIG_OPTIONS> & { readonly 'worker-host'?: string | undefined };

/** The `config` of a request, or nothing when no option selects any of it. */
export function readRunConfig(values: RunConfigValues): Readonly<Record<string, unknown>> | undefined {
  const policy = values['permission-policy'];
  const config = {
    ...(values.harness !== undefined && { harness: { type: values.harness } }),
    ...(values.model !== undefined && { model_id: values.model }),
    ...(values.environment !== undefined && { environment_id: values.environment }),
    ...(values['worker-host'] !== undefined && { worker_host: values['worker-host'] }),
    ...(values.mcp !== undefined && { mcp_servers: readServers(values.mcp) }),
    ...(policy !== undefined && { permission_policy: policy }),
  };
  return Object.keys(config).length > 0 ? config : undefined;
}

/** Fields of a request that select its owner. A header names the team. */
export function readOwner({ team, personal }: OptionValues<typeof OWNER_OPTIONS>): Readonly<Record<string, unknown>> {
  if (personal && team !== undefined) throw new UsageError('--team and --personal are mutually exclusive');
  return personal ? { team: false } : {};
}

/** The value of a text option; `-` reads standard input. */
export function readText(name: string, value: string | undefined, tokenFile?: string): string {
  if (value !== '-') return required(name, value);
  if (tokenFile === '-') throw new UsageError(`--${name} and --token-file cannot both read standard input`);
  return readFileSync(STANDARD_INPUT, 'utf8');
}

/** `key=value` pairs. */
export function readMetadata(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
      if (key === undefined || value === undefined) throw new UsageError('--metadata must be <key>=<value>');
      return [key, value];
    }),
  );
}

function readServers(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--mcp must be a JSON object of MCP servers by name');
  }
}
