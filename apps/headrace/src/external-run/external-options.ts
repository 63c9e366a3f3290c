import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CommandError } from '../cli/command.js';
import { REMOTE_OPTIONS, type RemoteValues } from '../remote/connect.js';
import { OWNER_OPTIONS, readOwner, readRunConfig, readText, RUN_CONFIG_OPTIONS } from '../remote/run-options.js';

const TEXT = { type: 'string' } as const;
const SWITCH = { type: 'boolean' } as const;
const OPTIONS = {
  ...REMOTE_OPTIONS,
  ...OWNER_OPTIONS,
  ...RUN_CONFIG_OPTIONS,
  ...{ prompt: TEXT, workspace: TEXT, title: TEXT, conversation: TEXT, agent: TEXT, skill: TEXT, idle: SWITCH },
} as const;

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
  const owner = readOwner(values);
  const config = readRunConfig(values);
  return {
    remote: values,
    request: {
      prompt: readText('prompt', values.prompt, values['token-file']),
      ...(config !== undefined && { config }),
      ...(values.title !== undefined && { title: values.title }),
      ...(values.skill !== undefined && { skill: values.skill }),
      ...(values.conversation !== undefined && { conversation_id: values.conversation }),
      ...(values.agent !== undefined && { agent_identity_uid: values.agent }),
      ...owner,
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
