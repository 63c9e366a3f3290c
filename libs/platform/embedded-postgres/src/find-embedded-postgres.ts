import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterDirectory, databaseUrl } from './cluster.js';
import { installedMajor } from './native-server.js';
import { EarlierServerError, findPostmaster } from './postmaster.js';

/** `none`: there is no cluster yet. `major`: the version that is installed. */
export type FoundPostgres =
  | { readonly kind: 'running'; readonly url: string; readonly major: string }
  | { readonly kind: 'stopped' | 'none'; readonly major: string };

/**
 * The embedded server of a data directory, as it is now; starts and changes nothing. Throws when it could not be started
 * either: its programs are missing, or the cluster is another version's.
 */
export function findEmbeddedPostgres(dataDir: string): FoundPostgres {
  const major = installedMajor();
  const directory = clusterDirectory(dataDir);
  if (directory === null) return { kind: 'none', major };
  const made = readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim();
  if (made !== major)
    throw new Error(`The database in ${directory} was made by PostgreSQL ${made}, this version brings ${major}.`);
  const postmaster = findPostmaster(directory);
  if (postmaster?.ready !== true) return { kind: 'stopped', major };
  if (postmaster.socketDirectory === null) throw new EarlierServerError(postmaster.pid);
  const password = readFileSync(join(dataDir, 'secrets', 'postgres-password'), 'utf8').trim();
  return { kind: 'running', url: databaseUrl({ password }, postmaster.socketDirectory), major };
}
