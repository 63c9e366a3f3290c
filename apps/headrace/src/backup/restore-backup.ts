import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { ensurePrivateDir, readIfPresent, type Settings, withSettings, writePrivateFile } from '#platform/config';
import { findShipped, SystemClock } from '#platform/kernel';
import { InstallationHold, type MigrationSource, queryOn } from '#platform/persistence';
import { type ObjectStore, openObjectStore } from '#platform/storage';
import { endLeases } from '#execution/executions';
import { CommandError } from '../cli/command.js';
import { assertRestorable, migrateAll, migrateTo } from '../process/migrations.js';
import { type BackupManifest, fingerprintOf, keyFile, objectsFile } from './backup-manifest.js';
import { objectsOf, withClient } from './create-backup.js';
import { copyObjects } from './objects.js';
import { loadTables, rejectOtherSchemas, verifyTables } from './tables.js';

/** Spells "HEAR"; one restore at a time. */
const RESTORE_LOCK = 0x48454152;

/**
 * The settings with the key of the backup: SECRETS_KEY, the key in the data directory, or the one in the backup, which {@link restoreBackup}
 * then stores in the data directory. Rejects for another key: nothing that is encrypted could be read.
 */
export async function withKeyOf(
  settings: Settings,
  { key_fingerprint, has_key }: BackupManifest,
  directory: string,
): Promise<Settings> {
  const file = storedKey(settings);
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
  return withSettings(settings, { secretsKey });
}

const storedKey = ({ dataDir }: Settings): string => join(dataDir, 'secrets', 'secrets-key');

/**
 * Marks the database first: from then on no process starts with it, and only a restore may drop what is in it. Then the objects, then all
 * rows in one transaction, with the schema that they had, then the migrations since. A restore that fails can be repeated. The installation is
 * held afterwards.
 */
export async function restoreBackup(
  settings: Settings,
  manifest: BackupManifest,
  {
    directory,
    migrations,
    storesKey,
  }: { readonly directory: string; readonly migrations: readonly MigrationSource[]; readonly storesKey: boolean },
): Promise<void> {
  const { databaseUrl = '' } = settings;
  const schemas = schemasOf(migrations);
  assertRestorable(manifest.migrations, migrations);
  rejectOtherSchemas(schemas, manifest);
  await verifyTables(directory, manifest.tables);
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      RESTORE_LOCK,
    ]);
    if (rows[0]?.locked !== true) throw new CommandError('Another restore into this database is running.');
    const target = await openObjectStore(settings, new SystemClock());
    try {
      await begin(client, schemas, target);
      await restoreObjects(settings, manifest, { directory, target });
    } finally {
      target.close();
    }
    await migrateTo(databaseUrl, manifest.migrations, migrations);
    await loadTables(client, schemas, directory, manifest);
    await migrateAll(settings, migrations, { isRestore: true });
    if (storesKey) {
      ensurePrivateDir(settings.dataDir, 'secrets');
      writePrivateFile(storedKey(settings), `${settings.secretsKey ?? ''}\n`);
    }
    await endLeases(queryOn(client));
    await InstallationHold.endRestore(queryOn(client));
  });
}

/** False: the installation is not held, or its restore has not ended. */
export async function releaseInstallation(databaseUrl: string): Promise<boolean> {
  return withClient(databaseUrl, (client) => InstallationHold.release(queryOn(client)));
}

export const schemasOf = (migrations: readonly MigrationSource[]): string[] => [
  'headrace',
  ...new Set(migrations.flatMap(({ ownSchema }) => ownSchema ?? [])),
];

/** Replaces the empty schema by one with the mark of the restore. Rows and objects below the mark are those of a restore that has failed. */
async function begin(client: pg.Client, schemas: readonly string[], target: ObjectStore): Promise<void> {
  await client.query('BEGIN');
  try {
    const isRepeated = await isRestoring(client);
    if (!isRepeated && (await hasData(client)))
      throw new CommandError(
        'The database contains an installation. Restore into an empty database, or an empty HEADRACE_DATA_DIR: a restore never replaces data.',
      );
    if (!isRepeated && (await target.list().next()).done !== true)
      throw new CommandError(
        'The object store contains objects. Restore into an empty directory, bucket or prefix: objects of two installations must not be mixed.',
      );
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'headrace%'`,
    );
    if (rows[0]?.count !== 0)
      throw new CommandError('Processes of Headrace are connected to the database. Stop them before the restore.');
    // An empty schema may be of another version than the backup.
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`);
    await client.query('CREATE SCHEMA headrace');
    await client.query(INSTALLATION_HOLD_SQL());
    await client.query(
      'INSERT INTO headrace.installation_hold (held_at, is_restoring) VALUES (pg_catalog.now(), true)',
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** The migration that creates the table can be applied again. */
const INSTALLATION_HOLD_SQL = (): string =>
  readFileSync(findShipped('libs/platform/persistence/sql/migrations/2026-11-29-create-installation-hold.sql'), 'utf8');

async function isRestoring(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('headrace.installation_hold') IS NOT NULL AS there`,
  );
  return rows[0]?.there === true && InstallationHold.isRestoring(queryOn(client));
}

async function hasData(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(`SELECT to_regclass('headrace.users') IS NOT NULL AS there`);
  if (rows[0]?.there !== true) return false;
  const found = await client.query<{ used: boolean }>(
    'SELECT EXISTS (SELECT FROM headrace.users) OR EXISTS (SELECT FROM headrace.teams) AS used',
  );
  return found.rows[0]?.used === true;
}

/** Compares each object with its checksum. */
async function restoreObjects(
  settings: Settings,
  { objects }: BackupManifest,
  { directory, target }: { readonly directory: string; readonly target: ObjectStore },
): Promise<void> {
  const expected = await readObjectList(directory, objects.sha256);
  const source = await openObjectStore(objectsOf(settings, directory), new SystemClock());
  await copyObjects(source, target, ({ key, bytes, sha256 }) => {
    if (expected.get(key) !== `${sha256} ${bytes}`) throw new Error('its content is not that of the backup.');
    expected.delete(key);
  });
  const [missing] = expected.keys();
  if (missing !== undefined) throw new CommandError(`The object ${missing} of the backup is missing.`);
}

async function readObjectList(directory: string, sha256: string): Promise<Map<string, string>> {
  const text = await readFile(objectsFile(directory), 'utf8');
  if (createHash('sha256').update(text).digest('hex') !== sha256)
    throw new CommandError(`${objectsFile(directory)} is damaged: its SHA-256 is not that of the backup.`);
  return new Map(
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(end + 1), line.slice(0, end)] as const;
      }),
  );
}
