import { readFileSync } from 'node:fs';
import { filled, type OptionValues, UsageError } from '../cli/command.js';
import type { OWNER_OPTIONS, RUN_CONFIG_OPTIONS } from '../cli/shared-options.js';

const STANDARD_INPUT = 0;

type RunConfigValues = OptionValues<typeof RUN_CONFIG_OPTIONS> & { readonly 'worker-host'?: string | undefined };
type OwnerValues = OptionValues<typeof OWNER_OPTIONS>;
type RunRequestValues = RunConfigValues &
  OwnerValues & { readonly prompt: string; readonly 'token-file': string | undefined } & Readonly<
    Record<'title' | 'skill' | 'agent' | 'conversation', string | undefined>
  >;

export function readRunRequest(values: RunRequestValues): Readonly<Record<string, unknown>> {
  return {
    ...readOwner(values),
    config: readRunConfig(values),
    prompt: readText('prompt', values.prompt, values['token-file']),
    title: values.title,
    skill: values.skill,
    agent_identity_uid: values.agent,
    conversation_id: values.conversation,
  };
}

/** The `config` of a request with `more` fields, or nothing when no option selects any of it. */
export function readRunConfig(values: RunConfigValues, more: object = {}): object | undefined {
  const config = {
    harness: values.harness === undefined ? undefined : { type: values.harness },
    model_id: values.model,
    environment_id: values.environment,
    worker_host: values['worker-host'],
    mcp_servers: values.mcp === undefined ? undefined : readServers(values.mcp),
    permission_policy: values['permission-policy'],
    ...more,
  };
  return Object.values(config).some((value) => value !== undefined) ? config : undefined;
}

/** Fields of a request that select its owner. A header names the team. */
export function readOwner({ team, personal }: OwnerValues): Readonly<Record<string, unknown>> {
  if (personal && team !== undefined) throw new UsageError('--team and --personal are mutually exclusive');
  return personal ? { team: false } : {};
}

/** The value of a text option; `-` reads standard input. */
export function readText(name: string, value: string | undefined, tokenFile?: string): string {
  if (value !== '-') return filled(`--${name}`, value);
  if (tokenFile === '-') throw new UsageError(`--${name} and --token-file cannot both read standard input`);
  return readFileSync(STANDARD_INPUT, 'utf8');
}

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
