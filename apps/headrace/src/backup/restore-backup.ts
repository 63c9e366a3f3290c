import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { ensurePrivateDir, readIfPresent, type Settings, withSettings, writePrivateFile } from '#platform/config';
import { SystemClock } from '#platform/kernel';
import { InstallationHold, type MigrationSource, openPool, queryOn } from '#platform/persistence';
import { openObjectStore } from '#platform/storage';
import { CommandError } from '../cli/command.js';
import { migrateAll, migrateTo } from '../process/migrations.js';
import { type BackupManifest, fingerprintOf, keyFile } from './backup-manifest.js';
import { objectsOf, withClient } from './create-backup.js';
import { copyObjects } from './objects.js';
import { loadTables, verifyTables } from './tables.js';

/**
 * The settings with the key of the backup: SECRETS_KEY, the key in the data directory, or the one in the backup, which is then
 * stored in the data directory. Rejects for another key: nothing that is encrypted could be read.
 */
export async function withKeyOf(
  settings: Settings,
  { key_fingerprint, has_key }: BackupManifest,
  directory: string,
): Promise<Settings> {
  const file = join(settings.dataDir, 'secrets', 'secrets-key');
  const given = settings.secretsKey ?? readIfPresent(file)?.trim();
  if (given !== undefined && given !== '') {
    if (fingerprintOf(given) === key_fingerprint) return withSettings(settings, { secretsKey: given });
    const source = settings.secretsKey === undefined ? file : 'SECRETS_KEY';
    throw new CommandError(`${source} is not the key of the backup.`);
  }
  if (!has_key)
    throw new CommandError('The backup does not contain the key of its installation. Set SECRETS_KEY to that key.');
  const secretsKey = (await readFile(keyFile(directory), 'utf8')).trim();
  if (fingerprintOf(secretsKey) !== key_fingerprint)
    throw new CommandError(`${keyFile(directory)} is not the key of the backup.`);
  ensurePrivateDir(settings.dataDir, 'secrets');
  writePrivateFile(file, `${secretsKey}\n`);
  return withSettings(settings, { secretsKey });
}

/**
 * Objects first: without rows they have no effect, so a restore that fails can be repeated. Then all tables in one transaction,
 * with the schema that they had, and the migrations since. The installation is held afterwards.
 */
export async function restoreBackup(
  settings: Settings,
  manifest: BackupManifest,
  { directory, migrations }: { readonly directory: string; readonly migrations: readonly MigrationSource[] },
): Promise<void> {
  const { databaseUrl = '' } = settings;
  const schemas = schemasOf(migrations);
  await verifyTables(directory, manifest.tables);
  await assertWithoutData(databaseUrl);
  await restoreObjects(settings, manifest, directory);
  await withClient(databaseUrl, async (client) => {
    // An empty schema may be of another version than the backup.
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`);
  });
  await migrateTo(databaseUrl, manifest.migrations, migrations);
  await withClient(databaseUrl, (client) => loadTables(client, schemas, directory, manifest));
  await migrateAll(settings, migrations);
  await onPool(databaseUrl, (pool) => InstallationHold.hold(queryOn(pool)));
}

/** False: the installation is not held. */
export const releaseInstallation = (databaseUrl: string): Promise<boolean> =>
  onPool(databaseUrl, (pool) => InstallationHold.release(queryOn(pool)));

export const schemasOf = (migrations: readonly MigrationSource[]): string[] => [
  'headrace',
  ...new Set(migrations.flatMap(({ ownSchema }) => ownSchema ?? [])),
];

async function assertWithoutData(databaseUrl: string): Promise<void> {
  const isUsed = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ there: boolean }>(
      `SELECT to_regclass('headrace.users') IS NOT NULL AS there`,
    );
    if (rows[0]?.there !== true) return false;
    const found = await client.query<{ used: boolean }>(
      'SELECT EXISTS (SELECT FROM headrace.users) OR EXISTS (SELECT FROM headrace.teams) AS used',
    );
    return found.rows[0]?.used === true;
  });
  if (isUsed)
    throw new CommandError(
      'The database contains an installation. Restore into an empty database, or an empty HEADRACE_DATA_DIR: a restore never replaces data.',
    );
}

async function restoreObjects(settings: Settings, { objects }: BackupManifest, directory: string): Promise<void> {
  if (!existsSync(join(directory, 'objects')) && objects.count === 0) return;
  const clock = new SystemClock();
  const target = await openObjectStore(settings, clock);
  try {
    const copied = await copyObjects(await openObjectStore(objectsOf(settings, directory), clock), target);
    if (copied.count !== objects.count || copied.bytes !== objects.bytes)
      throw new CommandError(
        `The backup has ${copied.count} objects with ${copied.bytes} bytes, instead of ${objects.count} with ${objects.bytes}: files are missing or damaged.`,
      );
  } finally {
    target.close();
  }
}

async function onPool<T>(databaseUrl: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = openPool(databaseUrl);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
