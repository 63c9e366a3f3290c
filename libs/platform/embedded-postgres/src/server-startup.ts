import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ensureDataDir, ensurePrivateDir, readIfPresent, writePrivateFile } from '#platform/config';
import { type Cluster, clusterDirectory, databaseUrl, openCluster } from './cluster.js';
import {
  EarlierServerError,
  findPostmaster,
  type FoundPostmaster,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
} from './postmaster.js';
import { openSocketDirectory } from './server-socket.js';

export interface ServerPaths {
  readonly dataDir: string;
  readonly secrets: string;
  /** Held by the process that starts or stops the server. */
  readonly lock: string;
  readonly users: string;
  /** Names the directory of the server's socket. */
  readonly socketDirectory: string;
  readonly startLog: string;
}

export function serverPaths(directory: string): ServerPaths {
  const dataDir = ensureDataDir(directory);
  const state = ensurePrivateDir(dataDir, 'state');
  return {
    dataDir,
    secrets: ensurePrivateDir(dataDir, 'secrets'),
    lock: join(state, 'postgres.lock'),
    users: join(state, 'postgres-users'),
    socketDirectory: join(state, 'postgres-socket'),
    startLog: join(ensurePrivateDir(dataDir, 'logs'), 'postgres-start.log'),
  };
}

export interface RunningServer {
  readonly cluster: Cluster;
  readonly postmaster: Postmaster;
}

/** How long sessions of a killed server, which may not be visible to us, can prevent the start of the next one. */
const OLD_SESSIONS_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 200;

/**
 * Joins the server that other processes use, or starts a new one. A server that no living process uses was left by a killed
 * process; it is replaced, which also ends the sessions of its dead clients. Called under the start lock.
 */
export async function joinOrStart(paths: ServerPaths, inUse: boolean, durable: boolean): Promise<RunningServer> {
  const directory = clusterDirectory(paths.dataDir);
  const left = directory === null ? null : findPostmaster(directory);
  const joinable = inUse && left?.ready === true ? joined(left) : null;
  if (left && !joinable) await stopPostmaster(left.pid);
  const cluster = await openCluster(paths.dataDir, paths.secrets, durable);
  const postmaster =
    joinable ??
    (await startAfterOldSessions(
      cluster,
      // The connection pools of other processes use its socket.
      openSocketDirectory(cluster, readIfPresent(paths.socketDirectory)),
      durable,
      paths.startLog,
    ));
  try {
    await checkAccess(databaseUrl(cluster, postmaster.socketDirectory));
  } catch (error) {
    if (postmaster.child) await stopPostmaster(postmaster.pid);
    throw error;
  }
  writePrivateFile(paths.socketDirectory, postmaster.socketDirectory);
  return { cluster, postmaster };
}

/** After the server died: joins the one that another process has started first, or starts one on the same socket. Called under the start lock. */
export async function restart(
  { cluster, postmaster }: RunningServer,
  paths: ServerPaths,
  durable: boolean,
): Promise<RunningServer> {
  const found = findPostmaster(cluster.directory);
  const { socketDirectory } = postmaster;
  if (found?.ready && found.socketDirectory === socketDirectory)
    return { cluster, postmaster: { pid: found.pid, socketDirectory, child: null } };
  if (found) await stopPostmaster(found.pid);
  const reopened = openSocketDirectory(cluster, socketDirectory);
  return { cluster, postmaster: await startPostmaster(cluster, reopened, durable, paths.startLog) };
}

function joined({ pid, socketDirectory }: FoundPostmaster): Postmaster {
  if (socketDirectory === null) throw new EarlierServerError(pid);
  return { pid, socketDirectory, child: null };
}

async function startAfterOldSessions(
  cluster: Cluster,
  socketDirectory: string,
  durable: boolean,
  log: string,
): Promise<Postmaster> {
  const deadline = performance.now() + OLD_SESSIONS_TIMEOUT_MS;
  for (;;) {
    try {
      return await startPostmaster(cluster, socketDirectory, durable, log);
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      if (!message.includes('pre-existing shared memory block') || performance.now() > deadline) throw error;
      await delay(RETRY_DELAY_MS);
    }
  }
}

async function checkAccess(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`The embedded PostgreSQL rejects the connection: ${(error as Error).message}.`, { cause: error });
  }
  await client.end();
}
