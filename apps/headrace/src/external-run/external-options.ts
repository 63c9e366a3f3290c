import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { relative } from 'node:path';
import { CommandError, flag, parseArgument, parseOptions, requiredText, text } from '../cli/command.js';
import { OWNER_OPTIONS, REMOTE_OPTIONS, type RemoteValues, RUN_CONFIG_OPTIONS } from '../cli/shared-options.js';
import { readRunRequest, readText } from '../remote/run-options.js';

export const EXTERNAL_RUN_OPTIONS = {
  prompt: requiredText('text', 'Prompt; - reads standard input.'),
  workspace: text('directory', 'Directory in which the agent works. Default: the current directory.'),
  idle: flag('Wait for follow-ups after the turn.'),
  snapshots: flag('Store snapshots of the directory, so that a later follow-up continues with its files.'),
  title: text('text', 'Title. Default: derived from the prompt.'),
  skill: text('spec', 'Skill to execute.'),
  agent: text('uid', 'Agent identity to run as.'),
  conversation: text('id', 'Conversation to continue.'),
  ...RUN_CONFIG_OPTIONS,
  ...OWNER_OPTIONS,
  ...REMOTE_OPTIONS,
};

export const RESUME_OPTIONS = {
  message: text('text', 'Message to the agent; - reads standard input. Default: the agent continues.'),
  workspace: text('directory', 'New or empty directory for the files of the run. Default: the current directory.'),
  idle: flag('Wait for follow-ups after the turn.'),
  ...REMOTE_OPTIONS,
};
export const RESUME_ARGUMENT = 'run-id';

interface CommonOptions {
  readonly remote: RemoteValues;
  /** Absolute path of an existing directory. */
  readonly workspace: string;
  readonly isIdling: boolean;
  readonly isJson: boolean;
}

export interface ExternalOptions extends CommonOptions {
  /** The body of the request, without the origin of the run. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly team: string | undefined;
  readonly hasSnapshots: boolean;
}

export interface ResumeOptions extends CommonOptions {
  /** The workspace did not exist. */
  readonly hasCreatedWorkspace: boolean;
  readonly runId: string;
  readonly message: string;
}

/** The arguments of `agent run --prompt`. Throws UsageError and CommandError before the first request to the API. */
export function readExternalOptions(args: readonly string[]): ExternalOptions {
  const { values, positionals } = parseOptions(EXTERNAL_RUN_OPTIONS, args);
  parseArgument(undefined, positionals);
  const workspace = directory(values.workspace ?? process.cwd());
  if (values.snapshots) assertStorable(workspace);
  return {
    remote: values,
    request: readRunRequest(values),
    team: values.team,
    workspace,
    hasSnapshots: values.snapshots,
    isIdling: values.idle,
    isJson: values.json,
  };
}

/** The arguments of `agent resume`. Creates the directory. Throws UsageError and CommandError before the first request to the API. */
export function readResumeOptions(args: readonly string[]): ResumeOptions {
  const { values, positionals } = parseOptions(RESUME_OPTIONS, args);
  const runId = parseArgument(RESUME_ARGUMENT, positionals);
  const message = values.message === undefined ? '' : readText('message', values.message, values['token-file']);
  const path = values.workspace ?? process.cwd();
  const hasCreatedWorkspace = !existsSync(path);
  const workspace = emptyDirectory(path);
  return { remote: values, runId, message, workspace, hasCreatedWorkspace, isIdling: values.idle, isJson: values.json };
}

function emptyDirectory(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && (!found.isDirectory() || readdirSync(path).length > 0))
    throw new CommandError(
      `${path} is not an empty directory. Use --workspace with a new one, or \`agent run --conversation\` to continue with your own files.`,
    );
  mkdirSync(path, { recursive: true });
  const directory = realpathSync(path);
  assertStorable(directory);
  return directory;
}

/** Snapshots of it must not contain what other programs keep in the home directory, such as keys. */
function assertStorable(workspace: string): void {
  const home = relative(workspace, existsSync(homedir()) ? realpathSync(homedir()) : homedir());
  if (home !== '..' && !home.startsWith('../'))
    throw new CommandError(
      'Snapshots of a directory that contains your home directory are not stored: use --workspace.',
    );
}

function directory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CommandError('--workspace must be an existing directory.');
  return realpathSync(path);
}

const MAX_METADATA_BYTES = 256;

/** Labels of a run from GitHub Actions, by the variables that GitHub sets in every job. */
const LABELS = {
  github_repository: 'GITHUB_REPOSITORY',
  github_ref: 'GITHUB_REF',
  github_sha: 'GITHUB_SHA',
  github_run_id: 'GITHUB_RUN_ID',
  github_workflow: 'GITHUB_WORKFLOW',
} as const;

export function runOrigin(environment: NodeJS.ProcessEnv): Readonly<Record<string, unknown>> {
  if (environment.GITHUB_ACTIONS !== 'true') return { source: 'CLI', execution_location: 'LOCAL' };
  const metadata = Object.fromEntries(
    Object.entries(LABELS).flatMap(([label, name]) => {
      const value = environment[name] ?? '';
      return value === '' || Buffer.byteLength(value) > MAX_METADATA_BYTES ? [] : [[label, value] as const];
    }),
  );
  return {
    source: 'GITHUB_ACTION',
    execution_location: 'REMOTE',
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}
