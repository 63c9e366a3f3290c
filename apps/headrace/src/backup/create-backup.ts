import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { type Settings, withSettings } from '#platform/config';
import { ownVersion, SystemClock } from '#platform/kernel';
import { openObjectStore } from '#platform/storage';
import { CommandError } from '../cli/command.js';
import { type BackupManifest, fingerprintOf, keyFile, writeManifest } from './backup-manifest.js';
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
 * Writes the tables as they are at one moment, then the objects. An object that was deleted in between belongs to a run that was
 * deleted after the moment. The directory gets its name when the backup is complete.
 */
export async function createBackup(
  settings: Settings,
  { directory: given, includesKey, schemas }: BackupOptions,
): Promise<CreatedBackup> {
  const { secretsKey, databaseUrl } = settings;
  if (secretsKey === undefined || databaseUrl === undefined) throw new Error('The settings are not complete.');
  const directory = resolve(given);
  if (existsSync(directory)) throw new CommandError(`${directory} exists. Name a directory that does not exist.`);
  const incomplete = `${directory}.incomplete`;
  if (existsSync(incomplete))
    throw new CommandError(
      `${incomplete} is left of a backup that did not end, or another one is running. Remove it first.`,
    );
  await mkdir(incomplete, { recursive: true, mode: 0o700 });
  try {
    await mkdir(join(incomplete, 'tables'), { mode: 0o700 });
    const dump = await withClient(databaseUrl, (client) => dumpTables(client, schemas, incomplete));
    const clock = new SystemClock();
    const source = await openObjectStore(settings, clock);
    const target = await openObjectStore(objectsOf(settings, incomplete), clock);
    const objects = await copyObjects(source, target).finally(() => source.close());
    if (includesKey) await writeFile(keyFile(incomplete), `${secretsKey}\n`, { mode: 0o600, flag: 'wx' });
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
    await rm(incomplete, { recursive: true, force: true });
    throw error;
  }
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
