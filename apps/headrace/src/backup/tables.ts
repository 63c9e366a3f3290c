import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { CommandError } from '../cli/command.js';
import { type BackupManifest, namesIn, type TableDump, tableFile } from './backup-manifest.js';
import { HashingStream } from './hashing-stream.js';

/**
 * What belongs to a running installation, to the schema, or to the tests: connections of workers, applied migrations, the hold,
 * and the clock of tests.
 */
const NOT_IN_BACKUPS = [
  'headrace.schema_migrations',
  'headrace.installation_hold',
  'headrace.worker_connections',
  'headrace.worker_reachability',
  'headrace.test_clock',
];

/** Without generated columns, which PostgreSQL computes again. Partitions are a part of their table. `$1`: schemas. */
const TABLES = `
  SELECT n.nspname || '.' || c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
   WHERE n.nspname = ANY($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   GROUP BY 1 ORDER BY 1`;
/** A table after those that it refers to. */
const REFERENCES = `
  SELECT DISTINCT tn.nspname || '.' || t.relname AS table, rn.nspname || '.' || r.relname AS refers_to FROM pg_constraint k
    JOIN pg_class t ON t.oid = k.conrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
    JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
   WHERE k.contype = 'f' AND tn.nspname = ANY($1) AND t.oid <> r.oid AND NOT t.relispartition`;
const PARTITIONS = `
  SELECT n.nspname || '.' || c.relname AS name, n.nspname || '.' || p.relname AS parent,
      pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
   WHERE n.nspname = ANY($1) AND c.relkind = 'r' AND c.relispartition ORDER BY 1`;
const SEQUENCES = `
  SELECT schemaname || '.' || sequencename AS name, last_value::text AS value FROM pg_sequences
   WHERE schemaname = ANY($1) AND last_value IS NOT NULL ORDER BY 1`;
/** Functions are applied again after each change, so a backup does not depend on them. */
const MIGRATIONS = `
  SELECT name, checksum FROM headrace.schema_migrations WHERE name ~ '/\\d{4}-\\d{2}-\\d{2}-' ORDER BY id`;
const NOW = `SELECT to_char(headrace.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS now`;

type Rows<Row> = readonly Row[];
type Dump = Pick<BackupManifest, 'created_at' | 'migrations' | 'tables' | 'sequences' | 'partitions'>;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** Of a name with its schema. Names of ours contain no dot. */
const qualified = (name: string): string => name.split('.').map(quoted).join('.');
const listed = (columns: readonly string[]): string => columns.map(quoted).join(', ');

/**
 * All tables as they are at one moment; the installation continues meanwhile. After a failure the connection executes nothing more: the
 * data of a table that could not be written is still on its way.
 */
export async function dumpTables(client: pg.Client, schemas: readonly string[], directory: string): Promise<Dump> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const created = (await client.query<{ now: string }>(NOW)).rows[0]?.now ?? '';
  const found = (await client.query<Pick<TableDump, 'name' | 'columns'>>(TABLES, [schemas])).rows;
  const tables: TableDump[] = [];
  for (const table of found) {
    if (NOT_IN_BACKUPS.includes(table.name)) continue;
    // A partitioned table can be read by a query only.
    const select = `SELECT ${listed(table.columns)} FROM ${qualified(table.name)}`;
    const source = client.query(copyTo(`COPY (${select}) TO STDOUT`));
    const hashing = new HashingStream();
    const target = createWriteStream(tableFile(directory, table.name), { mode: 0o600, flags: 'wx', flush: true });
    await pipeline(source, createGzip({ level: 1 }), hashing, target);
    tables.push({ ...table, rows: source.rowCount, sha256: hashing.sha256() });
  }
  // Sequences are not part of the snapshot: their values are not below those of the rows.
  const dump = {
    created_at: created,
    migrations: (await client.query<Dump['migrations'][number]>(MIGRATIONS)).rows,
    tables,
    sequences: (await client.query<Dump['sequences'][number]>(SEQUENCES, [schemas])).rows,
    partitions: (await client.query<Dump['partitions'][number]>(PARTITIONS, [schemas])).rows,
  };
  await client.query('ROLLBACK');
  return dump;
}

/** A backup that somebody has changed must not write to other tables of the database. */
export function rejectOtherSchemas(schemas: readonly string[], manifest: BackupManifest): void {
  const other = namesIn(manifest).find((name) => !schemas.includes(name.split('.')[0] ?? ''));
  if (other !== undefined)
    throw new CommandError(`The backup names ${other}, which is not of Headrace or its plugins.`);
}

/** Rejects with the first file that is damaged, before anything is changed. */
export async function verifyTables(directory: string, tables: Rows<TableDump>): Promise<void> {
  for (const { name, sha256 } of tables) {
    const hash = createHash('sha256');
    try {
      for await (const chunk of createReadStream(tableFile(directory, name))) hash.update(chunk as Buffer);
    } catch (error) {
      throw new CommandError(`The table ${name} of the backup cannot be read: ${String(error)}.`);
    }
    if (hash.digest('hex') !== sha256)
      throw new CommandError(`The file of the table ${name} is damaged: its SHA-256 is not that of the backup.`);
  }
}

/** Loads all tables in one transaction, into a database with exactly the migrations of the backup and without data. */
export async function loadTables(
  client: pg.Client,
  schemas: readonly string[],
  directory: string,
  manifest: BackupManifest,
): Promise<void> {
  await client.query('BEGIN');
  try {
    await createPartitions(client, schemas, manifest);
    const existing = (await client.query<{ name: string }>(TABLES, [schemas])).rows.map(({ name }) => name);
    const unknown = manifest.tables.find(({ name }) => !existing.includes(name) || NOT_IN_BACKUPS.includes(name));
    if (unknown) throw new CommandError(`The backup has the table ${unknown.name}, which no backup has.`);
    const kept = ['headrace.schema_migrations', 'headrace.installation_hold'];
    const emptied = existing.filter((name) => !kept.includes(name)).map(qualified);
    // The rows are as they were: a trigger has nothing to add to them or to reject.
    for (const name of emptied) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    // What migrations have written is in the backup, too. All tables at once, because they refer to each other.
    await client.query(`TRUNCATE ${emptied.join(', ')}`);
    const references = (await client.query<{ table: string; refers_to: string }>(REFERENCES, [schemas])).rows;
    for (const table of inOrder(manifest.tables, references)) {
      const name = qualified(table.name);
      const target = client.query(copyFrom(`COPY ${name} (${listed(table.columns)}) FROM STDIN`));
      await pipeline(createReadStream(tableFile(directory, table.name)), createGunzip(), target);
      if (target.rowCount !== table.rows)
        throw new CommandError(
          `The table ${table.name} of the backup has ${target.rowCount} rows instead of ${table.rows}.`,
        );
    }
    for (const name of emptied) await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    for (const { name, value } of manifest.sequences)
      await client.query('SELECT setval(to_regclass($1), $2::bigint)', [qualified(name), value]);
    await client.query('COMMIT');
  } catch (error) {
    // A connection that is broken has rolled back by itself; the first error is what counts.
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
  // Plans for tables without statistics would read them completely.
  await client.query('ANALYZE');
}

/** Those of the months in which the installation was used. Bounds are what PostgreSQL wrote, and part of the manifest. */
async function createPartitions(
  client: pg.Client,
  schemas: readonly string[],
  { partitions }: BackupManifest,
): Promise<void> {
  const there = new Set((await client.query<{ name: string }>(PARTITIONS, [schemas])).rows.map(({ name }) => name));
  for (const { name, parent, bounds } of partitions)
    if (!there.has(name))
      await client.query(`CREATE TABLE ${qualified(name)} PARTITION OF ${qualified(parent)} ${bounds}`);
}

/** Each table after those that it refers to. */
function inOrder(tables: Rows<TableDump>, references: Rows<{ table: string; refers_to: string }>): TableDump[] {
  const ordered: TableDump[] = [];
  let rest = [...tables];
  while (rest.length > 0) {
    const waiting = new Set(rest.map(({ name }) => name));
    const next = rest.filter(({ name }) => !references.some((one) => one.table === name && waiting.has(one.refers_to)));
    if (next.length === 0) throw new Error(`Tables refer to each other in a circle: ${[...waiting].join(', ')}.`);
    ordered.push(...next);
    rest = rest.filter((table) => !next.includes(table));
  }
  return ordered;
}
