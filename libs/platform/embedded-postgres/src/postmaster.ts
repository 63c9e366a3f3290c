import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfPresent } from '#platform/config';
import { isAlive, processArguments } from '#platform/kernel';
import type { Cluster } from './cluster.js';
import { SERVER_ENVIRONMENT, startArguments } from './server-options.js';
import { clearSocket } from './server-socket.js';

export interface Postmaster {
  readonly pid: number;
  readonly socketDirectory: string;
  /** Present when this process started it. */
  readonly child: ChildProcess | null;
}

export interface FoundPostmaster {
  readonly pid: number;
  /** Null for the server of an earlier version, which listened on TCP. */
  readonly socketDirectory: string | null;
  readonly ready: boolean;
}

/** The running server was started by a version that listened on TCP, and whose processes would not find one on a socket. */
export class EarlierServerError extends Error {
  constructor(pid: number) {
    super(
      `The embedded PostgreSQL (process ${pid}) was started by an earlier version of Headrace that is still running. Stop that one first.`,
    );
    this.name = 'EarlierServerError';
  }
}

const READY_TIMEOUT_MS = 10 * 60_000;
/** Sessions without their main process can only finish a statement that no client waits for; recovery follows anyway. */
const ORPHAN_TIMEOUT_MS = 1_000;

/** The running server of a cluster directory; null when there is none. */
export function findPostmaster(directory: string): FoundPostmaster | null {
  const lines = readIfPresent(join(directory, 'postmaster.pid'))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  // The file remains after a server is killed, and its number may belong to another process now.
  if (!isAlive(pid) || !processArguments(pid).includes(directory)) return null;
  return { pid, socketDirectory: lines[4]?.trim() || null, ready: lines[7]?.trim() === 'ready' };
}

/** Starts the server in its own session, so that Ctrl-C does not reach it, and waits until it accepts connections. */
export async function startPostmaster(
  cluster: Cluster,
  socketDirectory: string,
  durable: boolean,
  logFile: string,
): Promise<Postmaster> {
  await clearKilledServer(cluster.directory);
  clearSocket(socketDirectory);
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(cluster.programs.postgres, startArguments(cluster.directory, socketDirectory, durable), {
    cwd: cluster.account ? '/' : cluster.directory,
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', log, log],
    ...(cluster.account ?? {}),
  });
  closeSync(log);
  let failure: Error | null = null;
  child.on('error', (error) => (failure = error));
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (failure) throw new Error(`PostgreSQL cannot be started: ${(failure as Error).message}.`);
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(
        `PostgreSQL ended while starting (${child.exitCode ?? child.signalCode}):\n${readFileSync(logFile, 'utf8').trim()}`,
      );
    }
    const found = findPostmaster(cluster.directory);
    if (found?.ready && found.pid === child.pid) {
      child.unref();
      return { pid: found.pid, socketDirectory, child };
    }
    await delay(20);
  }
  child.kill('SIGQUIT');
  throw new Error(
    `PostgreSQL did not become ready within ${READY_TIMEOUT_MS / 60_000} minutes; its log is in ${join(cluster.directory, 'log')}.`,
  );
}

/** Both together are shorter than the time in which a process closes its database; otherwise a server would be left running. */
const FAST_STOP_MS = 12_000;
/** PostgreSQL itself kills what does not end within 5 s of an immediate stop. */
const IMMEDIATE_STOP_MS = 7_000;

/** Fast (sessions end, everything is written), then immediate (the next start reads the log of the database), then killed. */
export async function stopPostmaster(pid: number, fastStopMs = FAST_STOP_MS): Promise<void> {
  for (const [signal, timeoutMs] of [
    ['SIGINT', fastStopMs],
    ['SIGQUIT', IMMEDIATE_STOP_MS],
    ['SIGKILL', 10_000],
  ] as const) {
    send(pid, signal);
    if (await isGoneWithin(pid, timeoutMs)) return;
  }
  throw new Error(`PostgreSQL (process ${pid}) cannot be stopped.`);
}

/**
 * Removes what a killed server leaves: sessions that still run and may write, and a file that prevents the next start.
 * PostgreSQL removes neither when the killed process stays a zombie.
 */
async function clearKilledServer(directory: string): Promise<void> {
  const deadline = performance.now() + ORPHAN_TIMEOUT_MS;
  for (let orphans = sessionsOf(directory); orphans.length > 0; orphans = sessionsOf(directory)) {
    if (performance.now() > deadline) for (const pid of orphans) send(pid, 'SIGKILL');
    await delay(20);
  }
  rmSync(join(directory, 'postmaster.pid'), { force: true });
}

/** Server processes whose working directory is the cluster. Empty on systems that do not show it; PostgreSQL checks its shared memory in any case. */
function sessionsOf(directory: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isAlive(pid) && workingDirectory(pid) === directory);
}

function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function isGoneWithin(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isAlive(pid) && performance.now() <= deadline) await delay(20);
  return !isAlive(pid);
}
