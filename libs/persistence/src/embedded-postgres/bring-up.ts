import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readIfPresent, writePrivateFile } from '#libs/config';
import { type Cluster, clusterDirectory, databaseUrl, openCluster } from './cluster.js';
import { findPostmaster, freePort, type Postmaster, startPostmaster, stopPostmaster } from './postmaster.js';
import type { ServerPaths } from './server-paths.js';

export interface RunningServer {
  readonly cluster: Cluster;
  readonly postmaster: Postmaster;
}

const PORT_ATTEMPTS = 5;
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
  const joinable = inUse && left?.ready === true;
  if (left && !joinable) await stopPostmaster(left.pid);
  const cluster = await openCluster(paths.dataDir, paths.secrets, durable);
  // Others who use it have its port in their connection pools.
  const agreedPort = inUse ? Number(readIfPresent(paths.port) ?? 0) : 0;
  const postmaster =
    left && joinable ? { ...left, child: null } : await startOnSomePort(cluster, agreedPort, durable, paths.startLog);
  try {
    await checkAccess(databaseUrl(cluster, postmaster.port));
  } catch (error) {
    if (postmaster.child) await stopPostmaster(postmaster.pid);
    throw error;
  }
  writePrivateFile(paths.port, String(postmaster.port));
  return { cluster, postmaster };
}

/** After the server died: the one that another process was faster to start, or a new one, on the same port. Under the start lock. */
export async function bringUpAgain(
  { cluster, postmaster }: RunningServer,
  paths: ServerPaths,
  durable: boolean,
): Promise<RunningServer> {
  const found = findPostmaster(cluster.directory);
  if (found?.ready && found.port === postmaster.port) return { cluster, postmaster: { ...found, child: null } };
  if (found) await stopPostmaster(found.pid);
  return { cluster, postmaster: await startPostmaster(cluster, postmaster.port, durable, paths.startLog) };
}

async function startOnSomePort(
  cluster: Cluster,
  agreedPort: number,
  durable: boolean,
  log: string,
): Promise<Postmaster> {
  const deadline = performance.now() + REMAINS_PATIENCE_MS;
  for (let attempt = 1; ;) {
    try {
      return await startPostmaster(cluster, agreedPort || (await freePort()), durable, log);
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      // Somebody took the free port in the meantime.
      const isTaken = message.includes('Address already in use') && ++attempt <= PORT_ATTEMPTS;
      const hasRemains = message.includes('pre-existing shared memory block') && performance.now() < deadline;
      if (!isTaken && !hasRemains) throw error;
      if (hasRemains) await delay(REMAINS_PAUSE_MS);
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
