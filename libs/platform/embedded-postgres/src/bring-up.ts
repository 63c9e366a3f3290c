import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readIfPresent, writePrivateFile } from '#platform/config';
import { type Cluster, clusterDirectory, databaseUrl, openCluster } from './cluster.js';
import {
  EarlierServerError,
  findPostmaster,
  type FoundPostmaster,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
} from './postmaster.js';
import type { ServerPaths } from './server-paths.js';
import { openSocketDirectory } from './server-socket.js';

export interface RunningServer {
  readonly cluster: Cluster;
  readonly postmaster: Postmaster;
}

/** How long sessions of a killed server, which we may not be able to see, can keep the next one from starting. */
const REMAINS_PATIENCE_MS = 30_000;
const REMAINS_PAUSE_MS = 200;

/**
 * A running server for a process that comes: the one that others use, or a new one. One that nobody alive uses was left
 * by a killed process; it is replaced, which also ends the sessions of its dead clients. Under the start lock.
 */
export async function bringUp(paths: ServerPaths, inUse: boolean, durable: boolean): Promise<RunningServer> {
  const directory = clusterDirectory(paths.dataDir);
  const left = directory === null ? null : findPostmaster(directory);
  const joinable = inUse && left?.ready === true ? join(left) : null;
  if (left && !joinable) await stopPostmaster(left.pid);
  const cluster = await openCluster(paths.dataDir, paths.secrets, durable);
  const postmaster =
    joinable ??
    (await startOnceRemainsAreGone(
      cluster,
      // Others who use it have its socket in their connection pools.
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

/** After the server died: the one that another process was faster to start, or a new one, on the same socket. Under the start lock. */
export async function bringUpAgain(
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

function join({ pid, socketDirectory }: FoundPostmaster): Postmaster {
  if (socketDirectory === null) throw new EarlierServerError(pid);
  return { pid, socketDirectory, child: null };
}

async function startOnceRemainsAreGone(
  cluster: Cluster,
  socketDirectory: string,
  durable: boolean,
  log: string,
): Promise<Postmaster> {
  const deadline = performance.now() + REMAINS_PATIENCE_MS;
  for (;;) {
    try {
      return await startPostmaster(cluster, socketDirectory, durable, log);
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      if (!message.includes('pre-existing shared memory block') || performance.now() > deadline) throw error;
      await delay(REMAINS_PAUSE_MS);
    }
  }
}

async function checkAccess(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`The embedded PostgreSQL refuses us: ${error instanceof Error ? error.message : String(error)}.`, {
      cause: error,
    });
  }
  await client.end();
}
