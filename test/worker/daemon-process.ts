import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processes, Program } from '../support/installation.js';

const MAIN = fileURLToPath(new URL('../../dist/headrace.cjs', import.meta.url));

export const API_KEY = 'wk-secret-of-the-worker';

export interface DaemonPlace {
  readonly directory: string;
  readonly dataDir: string;
  readonly keyFile: string;
}

/** A directory for a daemon that may be started several times in it. */
export function daemonPlace(key = API_KEY): DaemonPlace {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-worker-'));
  chmodSync(directory, 0o711);
  const keyFile = join(directory, 'key');
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  return { directory, dataDir: join(directory, 'data'), keyFile };
}

/** `headrace worker`, as its users start it. */
export function startDaemon(
  place: DaemonPlace,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  program = MAIN,
): Program {
  const child = spawn(
    process.execPath,
    [program, 'worker', '--worker-id', 'host-1', '--data-dir', place.dataDir, '--log-level', 'debug', ...args],
    {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: place.directory,
        HEADRACE_WORKER_API_KEY_FILE: place.keyFile,
        ...environment,
      },
      cwd: place.directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  return new Program(child, 'headrace worker');
}

export function journalOf({ dataDir }: DaemonPlace): Record<string, unknown>[] {
  const directory = join(dataDir, 'journal');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => entryOf(join(directory, name)));
}

/** None: it was removed between the two looks. */
function entryOf(file: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Kills what is left of executions. */
export function killRemains(entries: readonly Readonly<Record<string, unknown>>[]): void {
  for (const pid of entries.flatMap(remains)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Living processes whose environment names the workspace of an execution, and its runner. */
export function remains(entry: Readonly<Record<string, unknown>>): number[] {
  const { pid: runner, workspace_dir: workspace = '' } = entry['handle'] as { pid?: number; workspace_dir?: string };
  return processes()
    .filter(({ pid }) => pid === runner || (workspace !== '' && environmentOf(pid).includes(workspace)))
    .map(({ pid }) => pid);
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

export function removePlace({ directory }: DaemonPlace): void {
  rmSync(directory, { recursive: true, force: true });
}
