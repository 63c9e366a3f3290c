import type pg from 'pg';
import { sqlState } from '../database-error.js';
import { queryOn } from '../database.js';
import { InstallationHold } from '../installation-hold.js';
import { dateOf, type MigrationFile } from './migration-files.js';

/** A schema that earlier versions created with migrations of another kind, which the files of `source` continue. */
export interface EarlierSchema {
  readonly source: string;
  /** Names of all earlier migrations. A database that has them all has what the files up to `baseline` create. */
  readonly migrations: readonly string[];
  readonly baseline: string;
  /** What an operator does first whose database has only some of them. */
  readonly advice: string;
}

export interface MigrationPlan {
  readonly files: readonly MigrationFile[];
  readonly earlier: EarlierSchema;
}

export interface SchemaState {
  /** `empty`: no table of applied migrations. `earlier`: that of an {@link EarlierSchema}. */
  readonly kind: 'empty' | 'earlier' | 'current';
  readonly pending: readonly MigrationFile[];
  /** Names that a newer version has applied. */
  readonly unknown: readonly string[];
  /** Names of files that were changed after they were applied. */
  readonly changed: readonly string[];
  /** Names of earlier migrations that a database with some of them lacks. */
  readonly missing: readonly string[];
}

interface AppliedFile {
  readonly name: string;
  readonly checksum?: string;
}

/** The table is missing, or the schema. */
const NO_TABLE: readonly (string | null)[] = ['42P01', '3F000'];

export async function readSchemaState(client: Pick<pg.ClientBase, 'query'>, plan: MigrationPlan): Promise<SchemaState> {
  const applied = await readApplied(client);
  const first = applied?.[0];
  if (!applied || !first)
    return { kind: applied ? 'earlier' : 'empty', pending: plan.files, unknown: [], changed: [], missing: [] };
  return first.checksum === undefined ? compareEarlier(applied, plan) : compareCurrent(applied, plan);
}

/** Oldest first; null without a table. */
async function readApplied(client: Pick<pg.ClientBase, 'query'>): Promise<AppliedFile[] | null> {
  try {
    // Whole rows: the table of an earlier schema has other columns.
    return (await client.query<AppliedFile>('SELECT * FROM headrace.schema_migrations ORDER BY id')).rows;
  } catch (error) {
    if (NO_TABLE.includes(sqlState(error))) return null;
    throw error;
  }
}

function compareEarlier(applied: readonly AppliedFile[], { files, earlier }: MigrationPlan): SchemaState {
  const names = new Set(applied.map(({ name }) => name));
  return {
    kind: 'earlier',
    pending: files.filter((file) => !isAdopted(file, earlier)),
    unknown: [...names].filter((name) => !earlier.migrations.includes(name)),
    changed: [],
    missing: earlier.migrations.filter((name) => !names.has(name)),
  };
}

/** Whether a database with all earlier migrations has what this file creates. */
export const isAdopted = (file: MigrationFile, { source, baseline }: EarlierSchema): boolean =>
  file.source === source && !file.isRepeatable && dateOf(file.name) <= baseline;

function compareCurrent(applied: readonly AppliedFile[], { files }: MigrationPlan): SchemaState {
  /** The checksums of each file, oldest first. */
  const history = new Map<string, string[]>();
  for (const { name, checksum = '' } of applied) history.set(name, [...(history.get(name) ?? []), checksum]);
  const known = new Map(files.map((file) => [file.name, file]));
  const sources = new Set(files.map(({ source }) => source));
  const state = { pending: [] as MigrationFile[], unknown: [] as string[], changed: [] as string[] };
  for (const name of history.keys()) {
    // Files of a source that this program does not have belong to a package that is not installed here. A function that it
    // does not have is not called here.
    const isVersioned = /\/\d{4}-\d{2}-\d{2}-/.test(name);
    if (!known.has(name) && isVersioned && sources.has(name.slice(0, name.indexOf('/')))) state.unknown.push(name);
  }
  for (const file of files) {
    const checksums = history.get(file.name) ?? [];
    if (checksums.at(-1) === file.checksum) continue;
    if (checksums.length > 0 && !file.isRepeatable) state.changed.push(file.name);
    // The database had this text before it got a newer one.
    else if (checksums.includes(file.checksum)) state.unknown.push(file.name);
    else state.pending.push(file);
  }
  return { kind: 'current', ...state, missing: [] };
}

/**
 * The program and the schema of its database do not fit. `behind`: the database lacks migrations. `ahead`: it has migrations of
 * a newer version. `too_old`: it lacks migrations that this program no longer has. `changed`: a file that runs once was edited
 * after it was applied, so that the database does not have what the file contains. `foreign_change`: a migration of a plugin
 * changes what belongs to others. `restoring`: a restore has begun and not ended.
 */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';

  constructor(
    readonly reason: 'behind' | 'ahead' | 'too_old' | 'changed' | 'foreign_change' | 'restoring',
    message: string,
  ) {
    super(message);
  }
}

const count = (names: readonly string[], noun = 'migration(s)'): string =>
  `${names.length} ${noun} (${names.join(', ')})`;

/** Throws when a restore has begun and not ended: the rows are not complete. */
export async function assertNotRestoring(client: pg.Pool | pg.ClientBase): Promise<void> {
  if (await InstallationHold.isRestoring(queryOn(client)))
    throw new SchemaError(
      'restoring',
      'A restore into this database has not ended. Wait for it, or repeat `headrace restore --from`.',
    );
}

/** Throws unless this program may bring the database to its own schema. */
export function assertUpgradable({ unknown, missing, changed }: SchemaState, { earlier }: MigrationPlan): void {
  if (unknown.length > 0)
    throw new SchemaError(
      'ahead',
      `The database schema is newer than this version of Headrace: it has ${count(unknown, 'migration(s) that this version does not know')}. Start the version that wrote them, or a newer one; an older version can only use a backup that was made before.`,
    );
  if (missing.length > 0)
    throw new SchemaError(
      'too_old',
      `The database schema is too old for this version of Headrace: it lacks ${count(missing, 'earlier migration(s)')}. ${earlier.advice}`,
    );
  if (changed.length > 0)
    throw new SchemaError(
      'changed',
      `${count(changed, 'migration(s) were changed after they were applied to this database')}. Restore the files, and write the change into a new migration.`,
    );
}

/** Throws unless the schema is that of this program: applications never migrate, they only check. */
export async function assertMigrated(pool: pg.Pool, plan: MigrationPlan): Promise<void> {
  await assertNotRestoring(pool);
  const state = await readSchemaState(pool, plan);
  assertUpgradable(state, plan);
  const pending = state.pending.map(({ name }) => name);
  if (pending.length > 0)
    throw new SchemaError('behind', `The database schema is behind by ${count(pending)}. Run \`headrace migrate\`.`);
}
