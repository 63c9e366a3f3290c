import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const checkout = fileURLToPath(new URL('../../', import.meta.url));
export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65_534;

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** A directory for one test: holds the data directory; removed with whatever root had to keep elsewhere. */
export function temporaryDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-launcher-'));
  chmodSync(directory, 0o711);
  return directory;
}

export function removeDir(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

/** Settings of a test's own: nothing of the machine's gets in, no port is fixed. */
export function environment(dataDir: string, more: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', TMPDIR = tmpdir() } = process.env;
  return { PATH, TMPDIR, HOME: dataDir, HEADRACE_DATA_DIR: dataDir, PORT: '0', INGRESS_PORT: '0', ...more };
}

/** A program under test: its output, what it says while it runs, and its end. */
export class Launched {
  output = '';
  readonly child: ChildProcess;
  /** The exit code, or the name of the signal that ended it. */
  readonly exit: Promise<number | string>;
  private readonly listeners = new Set<() => void>();

  constructor(program: string, args: readonly string[], options: SpawnOptions) {
    this.child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.exit = once(this.child, 'close').then(
      ([code, signal]: (number | string | null)[]) => code ?? signal ?? 'unknown',
    );
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
        for (const listener of this.listeners) listener();
      });
    }
  }

  /** Resolves with the match once the output has it; rejects when the program ends without. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    let listener: () => void = () => undefined;
    const heard = new Promise<RegExpExecArray>((resolve) => {
      listener = () => {
        const match = pattern.exec(this.output);
        if (match) resolve(match);
      };
      this.listeners.add(listener);
      listener();
    });
    const ended = this.exit.then((code): never => {
      throw new Error(`Ended with ${code} without saying ${String(pattern)}:\n${this.output}`);
    });
    try {
      return await Promise.race([heard, ended]);
    } finally {
      this.listeners.delete(listener);
      ended.catch(() => undefined);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }
}

/** `node scripts/start.mjs <command>`, from a directory without an `.env`. */
export function start(dataDir: string, command = 'up', more: Record<string, string> = {}, account?: Account): Launched {
  return new Launched(process.execPath, [join(checkout, 'scripts/start.mjs'), command], {
    cwd: join(dataDir, '..'),
    env: environment(dataDir, more),
    ...account,
  });
}

/** `headrace <arguments>` to its end. */
export async function headrace(
  dataDir: string,
  ...args: readonly string[]
): Promise<{ code: number | string; output: string }> {
  const launched = new Launched(process.execPath, [join(checkout, 'bin/headrace.mjs'), ...args], {
    cwd: join(dataDir, '..'),
    env: environment(dataDir),
  });
  return { code: await launched.exit, output: launched.output };
}

export interface Connection {
  base_url: string;
  ingress_base_url: string;
  docs_url: string;
  token: string;
  service_account_token: string;
  team_uid: string;
  factory_uid: string;
}

export function connectionOf(dataDir: string): Connection {
  return JSON.parse(readFileSync(join(dataDir, 'connection.json'), 'utf8')) as Connection;
}

/** Numbers of the two processes that must not outlive the launcher. */
export function pidsOf(dataDir: string): { server: number; postgres: number } {
  const server = (JSON.parse(readFileSync(join(dataDir, 'state/up.lock'), 'utf8')) as { pid: number }).pid;
  return { server, postgres: Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]) };
}

/** Processes whose arguments or environment name a directory, zombies left out. Linux only; elsewhere empty. */
export function processesNaming(directory: string): number[] {
  if (process.platform !== 'linux') return [];
  const reads = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => `${reads(`/proc/${pid}/cmdline`)}${reads(`/proc/${pid}/environ`)}`.includes(directory))
    .map(Number);
}

export function api(
  connection: Connection,
  path: string,
  token = connection.token,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(connection.base_url + path, {
    ...init,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  });
}
