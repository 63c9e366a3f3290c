import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { required } from '../cli/arguments.js';
import { CommandError, UsageError } from '../cli/command.js';
import { REMOTE_OPTIONS, type RemoteValues } from '../remote/connect.js';

const TEXT = { type: 'string' } as const;
const SWITCH = { type: 'boolean' } as const;
const OPTIONS = {
  ...REMOTE_OPTIONS,
  ...{ prompt: TEXT, workspace: TEXT, title: TEXT, conversation: TEXT, agent: TEXT, team: TEXT },
  ...{ harness: TEXT, model: TEXT, skill: TEXT, environment: TEXT, mcp: TEXT, 'permission-policy': TEXT },
  ...{ personal: SWITCH, idle: SWITCH, json: SWITCH },
} as const;
const POLICIES = ['allow', 'deny', 'ask'];
const STANDARD_INPUT = 0;

export interface ExternalOptions {
  readonly remote: RemoteValues;
  /** The request's body, but for where the run comes from. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly team: string | undefined;
  /** Absolute; exists. */
  readonly workspace: string;
  readonly isIdling: boolean;
  readonly isJson: boolean;
}

/** The arguments of `agent run --prompt`. Throws UsageError and CommandError before anything is asked of the API. */
export function readExternalOptions(args: readonly string[]): ExternalOptions {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.personal === true && values.team !== undefined)
    throw new UsageError('--team and --personal exclude each other');
  const policy = values['permission-policy'];
  if (policy !== undefined && !POLICIES.includes(policy))
    throw new UsageError(`--permission-policy must be one of ${POLICIES.join(', ')}`);
  if (values.prompt === '-' && values['token-file'] === '-')
    throw new UsageError('standard input cannot be both prompt and token');
  const config = {
    ...(values.harness !== undefined && { harness: { type: values.harness } }),
    ...(values.model !== undefined && { model_id: values.model }),
    ...(values.environment !== undefined && { environment_id: values.environment }),
    ...(values.mcp !== undefined && { mcp_servers: readServers(values.mcp) }),
    ...(policy !== undefined && { permission_policy: policy }),
  };
  return {
    remote: values,
    request: {
      prompt: values.prompt === '-' ? readFileSync(STANDARD_INPUT, 'utf8') : required('prompt', values.prompt),
      ...(Object.keys(config).length > 0 && { config }),
      ...(values.title !== undefined && { title: values.title }),
      ...(values.skill !== undefined && { skill: values.skill }),
      ...(values.conversation !== undefined && { conversation_id: values.conversation }),
      ...(values.agent !== undefined && { agent_identity_uid: values.agent }),
      ...(values.personal === true && { team: false }),
    },
    team: values.team,
    workspace: directory(values.workspace ?? process.cwd()),
    isIdling: values.idle ?? false,
    isJson: values.json ?? false,
  };
}

function directory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CommandError('--workspace must be a directory that is there.');
  return resolve(path);
}

function readServers(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--mcp must be JSON, MCP servers by their names');
  }
}
