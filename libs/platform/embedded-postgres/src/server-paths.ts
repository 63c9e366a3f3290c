import { join } from 'node:path';
import { ensureDataDir, ensurePrivateDir } from '#platform/config';

/** Where things of the embedded server are in the data directory. */
export interface ServerPaths {
  readonly dataDir: string;
  readonly secrets: string;
  /** Held by whoever starts or stops the server. */
  readonly lock: string;
  readonly users: string;
  /** Names the directory of the server's socket. */
  readonly socketDirectory: string;
  readonly startLog: string;
}

export function serverPaths(given: string): ServerPaths {
  const dataDir = ensureDataDir(given);
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
