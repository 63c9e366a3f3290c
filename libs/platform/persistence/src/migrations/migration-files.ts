import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A directory with migrations: `migrations/<yyyy-mm-dd>-<content>.sql` are applied once, `functions/<name>.sql` again after
 * every change. `name` is a part of the names in the database; several directories may share it.
 */
export interface MigrationSource {
  readonly name: string;
  readonly directory: string;
  /** The only schema that these files may change, which is created for them; absent: they may change everything. */
  readonly ownSchema?: string;
}

export interface MigrationFile {
  /** `<source>/<file without .sql>`: where the file lies is no part of it, so a library can be moved. */
  readonly name: string;
  readonly source: string;
  readonly ownSchema: string | null;
  readonly isRepeatable: boolean;
  readonly sql: string;
  readonly checksum: string;
}

const VERSIONED = /^(\d{4}-\d{2}-\d{2})-[a-z0-9]+(-[a-z0-9]+)*\.sql$/;
const REPEATABLE = /^[a-z0-9_]+\.sql$/;

/** First those that run once, by date and then source, then the repeatable ones. Throws for an invalid or double name. */
export function readMigrations(sources: readonly MigrationSource[]): MigrationFile[] {
  const versioned = sources.flatMap((source) => readDirectory(source, 'migrations', VERSIONED));
  const repeatable = sources.flatMap((source) => readDirectory(source, 'functions', REPEATABLE));
  // Sorting is stable: within a date the order of the sources stays.
  const files = [...versioned.sort((a, b) => compare(dateOf(a.name), dateOf(b.name))), ...repeatable];
  const twice = files.find(({ name }, index) => files.findIndex((other) => other.name === name) !== index);
  if (twice) throw new Error(`Two migrations have the name ${twice.name}.`);
  return files;
}

export const dateOf = (name: string): string => name.slice(name.indexOf('/') + 1).slice(0, 'yyyy-mm-dd'.length);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function readDirectory(source: MigrationSource, kind: 'migrations' | 'functions', pattern: RegExp): MigrationFile[] {
  const directory = join(source.directory, kind);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .sort()
    .map((file) => {
      if (!pattern.test(file)) throw new Error(`${join(directory, file)} has no name of a migration.`);
      // Independent of how a checkout writes ends of lines.
      const sql = readFileSync(join(directory, file), 'utf8').replaceAll('\r\n', '\n');
      return {
        name: `${source.name}/${file.slice(0, -'.sql'.length)}`,
        source: source.name,
        ownSchema: source.ownSchema ?? null,
        isRepeatable: kind === 'functions',
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      };
    });
}
