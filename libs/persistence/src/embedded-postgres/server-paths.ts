import { join } from 'node:path';
import { ensureDataDir, ensurePrivateDir } from '#libs/config';

/** Where things of the embedded server are in the data directory. */
export interface ServerPaths {
  readonly dataDir: string;
  readonly secrets: string;
  /** Held by whoever starts or stops the server. */
  readonly lock: string;
  readonly users: string;
  /** The port, for as long as anybody uses the server. */
  readonly port: string;
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
    port: join(state, 'postgres-port'),
    startLog: join(ensurePrivateDir(dataDir, 'logs'), 'postgres-start.log'),
  };
}
