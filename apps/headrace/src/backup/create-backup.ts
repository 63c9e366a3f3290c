import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import pg from 'pg';
import { createDirectory, type Settings, withSettings } from '#platform/config';
import { ownVersion, SystemClock } from '#platform/kernel';
import { BACKUP_LOCK } from '#platform/persistence';
import { openObjectStore } from '#platform/storage';
import { CommandError } from '../cli/command.js';
import { type BackupManifest, fingerprintOf, keyFile, objectsFile, writeManifest } from './backup-manifest.js';
import { copyObjects } from './objects.js';
import { dumpTables } from './tables.js';

export interface BackupOptions {
  /** Becomes the backup; must not exist. */
  readonly directory: string;
  readonly includesKey: boolean;
  /** Of Headrace and its plugins. */
  readonly schemas: readonly string[];
}

export type CreatedBackup = Pick<BackupManifest, 'created_at' | 'objects'> & {
  readonly tables: number;
  readonly rows: number;
};

/**
 * Writes the tables as they are at one moment, then the objects, of which none is deleted meanwhile. The directory gets its name when
 * the backup is complete.
 */
export async function createBackup(
  settings: Settings,
  { directory: given, includesKey, schemas }: BackupOptions,
): Promise<CreatedBackup> {
  const { secretsKey, databaseUrl } = settings;
  if (secretsKey === undefined || databaseUrl === undefined) throw new Error('The settings are not complete.');
  const directory = resolve(given);
  if (existsSync(directory)) throw new CommandError(`${directory} exists. Name a directory that does not exist.`);
  const stored = join(settings.dataDir, 'objects');
  if (`${directory}/`.startsWith(`${stored}/`)) throw new CommandError(`A backup cannot be stored in ${stored}.`);
  const incomplete = `${directory}.incomplete`;
  await createIncomplete(incomplete, directory);
  try {
    await mkdir(join(incomplete, 'tables'), { mode: 0o700 });
    const { dump, objects } = await withClient(databaseUrl, async (client) => {
      // Until the connection ends: what the rows name is not deleted.
      await client.query('SELECT pg_advisory_lock_shared($1)', [BACKUP_LOCK]);
      const saved = {
        dump: await dumpTables(client, schemas, incomplete),
        objects: await saveObjects(settings, incomplete),
      };
      // Without the connection there was no lock, and objects may have been deleted meanwhile.
      await client.query('SELECT 1').catch(() => {
        throw new CommandError('The connection to the database was lost while the objects were copied. Try again.');
      });
      return saved;
    });
    if (includesKey) await writeFile(keyFile(incomplete), `${secretsKey}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await writeManifest(incomplete, {
      version: ownVersion(),
      ...dump,
      objects,
      key_fingerprint: fingerprintOf(secretsKey),
      has_key: includesKey,
    });
    await rename(incomplete, directory);
    const rows = dump.tables.reduce((sum, table) => sum + table.rows, 0);
    return { created_at: dump.created_at, objects, tables: dump.tables.length, rows };
  } catch (error) {
    // The reason of the failure is what counts, also where this fails.
    await rm(incomplete, { recursive: true, force: true }).catch(() => undefined);
    throw explained(error, directory);
  }
}

/** Of two backups with the same name, one creates the directory. */
async function createIncomplete(path: string, directory: string): Promise<void> {
  try {
    createDirectory(dirname(path));
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new CommandError(
        `${path} is left of a backup that did not end, or another one is running. Remove it first.`,
      );
    throw explained(error, directory);
  }
}

/** Codes of the directory of the backup and its disk. The socket of a database that is not running may have one of them too. */
const DISK_CODES: ReadonlySet<string | undefined> = new Set(
  'EACCES EDQUOT EFBIG EIO ENAMETOOLONG ENOENT ENOSPC ENOTDIR EPERM EROFS'.split(' '),
);

/** A sentence for an error of the disk; any other error as it is. */
function explained(error: unknown, directory: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!DISK_CODES.has(code) || syscall === 'connect') return error;
  return new CommandError(`The backup cannot be written to ${directory}: ${error.message}.`);
}

async function saveObjects(settings: Settings, directory: string): Promise<BackupManifest['objects']> {
  const clock = new SystemClock();
  const source = await openObjectStore(settings, clock);
  const list = createWriteStream(objectsFile(directory), { mode: 0o600, flags: 'wx', flush: true });
  const written = finished(list);
  // Awaited below. A disk may be full before.
  written.catch(() => undefined);
  const hash = createHash('sha256');
  let count = 0;
  let bytes = 0;
  try {
    await copyObjects(source, await openObjectStore(objectsOf(settings, directory), clock), (object) => {
      const line = `${object.sha256} ${object.bytes} ${object.key}\n`;
      hash.update(line);
      list.write(line);
      count += 1;
      bytes += object.bytes;
    });
    list.end();
    await written;
  } finally {
    source.close();
  }
  return { count, bytes, sha256: hash.digest('hex') };
}

/** Settings of a store whose objects are files in the directory of a backup. */
export const objectsOf = (settings: Settings, directory: string): Settings =>
  withSettings(settings, { dataDir: directory, objectStoreUrl: undefined });

/** Without limits of time: a table may be large. */
export async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    options:
      '-c search_path=headrace,public -c timezone=UTC -c statement_timeout=0 -c idle_in_transaction_session_timeout=0',
    application_name: 'headrace-backup',
  });
  // The statement that runs rejects as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
