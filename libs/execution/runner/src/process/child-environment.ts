import { accessSync, constants, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Workspace } from '../workspace/workspace.js';

interface ChildEnvironmentOptions {
  readonly workspace: Pick<Workspace, 'home' | 'tmp' | 'artifacts' | 'attachments' | 'runAs'>;
  readonly marker: string;
  readonly runId: string;
  /** Later ones take precedence; none may replace the variables that keep the execution inside its workspace. */
  readonly layers: readonly Readonly<Record<string, string>>[];
}

const SYSTEM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Built from scratch: nothing of the runner's own environment goes in except the directories of its PATH. */
export function childEnvironment({
  workspace,
  marker,
  runId,
  layers,
}: ChildEnvironmentOptions): Record<string, string> {
  const user = workspace.runAs ? 'agent' : ownName();
  const shell = findCommand('bash', SYSTEM_PATH.join(delimiter)) ?? '/bin/sh';
  const given = Object.assign({}, ...layers) as Record<string, string>;
  return {
    PATH: searchPath(),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    USER: user,
    LOGNAME: user,
    SHELL: shell,
    GIT_TERMINAL_PROMPT: '0',
    ...Object.fromEntries(Object.entries(given).filter(([name, value]) => isPassable(name, value))),
    HOME: workspace.home,
    TMPDIR: workspace.tmp,
    HEADRACE_EXECUTION_MARKER: marker,
    HEADRACE_RUN_ID: runId,
    HEADRACE_ARTIFACTS_DIR: workspace.artifacts,
    HEADRACE_ATTACHMENTS_DIR: workspace.attachments,
  };
}

/** In a container the user may be a number without a name. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'agent';
  }
}

function isPassable(name: string, value: string): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0') && !name.startsWith('HEADRACE_');
}

export function searchPath(): string {
  const own = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  return [...new Set([...own, ...SYSTEM_PATH])].join(delimiter);
}

/** The executable file of a command name, or null. A name with a slash is a path. */
export function findCommand(command: string, path: string): string | null {
  const candidates = command.includes('/')
    ? [command]
    : path.split(delimiter).map((directory) => join(directory, command));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
