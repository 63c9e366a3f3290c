import { readFileSync } from 'node:fs';
import { required } from '../cli/arguments.js';
import { UsageError } from '../cli/command.js';

const TEXT = { type: 'string' } as const;
const STANDARD_INPUT = 0;
const POLICIES = ['allow', 'deny', 'ask'];

/** Options that select how a run is executed: fields of its `config`. */
export const RUN_CONFIG_OPTIONS = {
  ...{ harness: TEXT, model: TEXT, environment: TEXT, mcp: TEXT },
  'permission-policy': TEXT,
} as const;

export type RunConfigValues = { readonly [K in keyof typeof RUN_CONFIG_OPTIONS | 'worker-host']?: string };

/** Options of the owner of what is created. */
export const OWNER_OPTIONS = { team: TEXT, personal: { type: 'boolean' } } as const;

export interface OwnerValues {
  readonly team?: string;
  readonly personal?: boolean;
}

/** The `config` of a request, or nothing when no option selects any of it. */
export function readRunConfig(values: RunConfigValues): Readonly<Record<string, unknown>> | undefined {
  const policy = values['permission-policy'];
  if (policy !== undefined && !POLICIES.includes(policy))
    throw new UsageError(`--permission-policy must be one of ${POLICIES.join(', ')}`);
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

/** Fields of a request that select its owner. The team itself is named by a header. */
export function readOwner({ team, personal }: OwnerValues): Readonly<Record<string, unknown>> {
  if (personal === true && team !== undefined) throw new UsageError('--team and --personal exclude each other');
  return personal === true ? { team: false } : {};
}

/** The value of a text option; `-` reads standard input. */
export function readText(name: string, value: string | undefined, tokenFile?: string): string {
  if (value !== '-') return required(name, value);
  if (tokenFile === '-') throw new UsageError(`standard input cannot be both ${name} and token`);
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
    throw new UsageError('--mcp must be JSON, MCP servers by their names');
  }
}
