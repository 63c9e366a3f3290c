import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { type EncryptedColumn, mapValues, onSealed } from '../encrypted-column.js';
import { SealBrokenError, SecretBox } from '../secret-box.js';

/** Null when it is under the current key already. Throws a SealBrokenError for one that does not open. */
type Reencrypt = (sealed: string, purpose: string) => string | null;

interface ReencryptCount {
  readonly changed: number;
  /** Values that do not open, which are left as they are. */
  readonly broken: number;
}

type Row = Readonly<Record<string, string>> & { readonly key: string; readonly stored: unknown };

/** Keys that one statement reads: it has to end in time also when few of the rows hold sealed values. */
const WINDOW = 2000;
/** A row that is written all the time must not keep the command busy without limit. */
const MAX_ATTEMPTS = 10;

/** Goes through every encrypted value of the installation. Safe while others work, and safe to repeat. */
@Injectable()
export class KeyRotation {
  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
  ) {}

  /** Encrypts every value again that is not under the current key. Yields each table when it is done. */
  async *rotate(columns: readonly EncryptedColumn[]): AsyncGenerator<ReencryptCount & { readonly table: string }> {
    for (const [table, ofTable] of byTable(columns)) {
      const total = { table, changed: 0, broken: 0 };
      for (const column of ofTable) {
        const { changed, broken } = await this.reencrypt(column, (sealed, purpose) =>
          this.box.reencrypt(sealed, purpose),
        );
        total.changed += changed;
        total.broken += broken;
      }
      yield total;
    }
  }

  /**
   * One column, by its primary key, with another way to replace values than {@link rotate}. Others may read and write the
   * rows meanwhile. What `reencrypt` throws ends it.
   */
  async reencrypt(column: EncryptedColumn, reencrypt: Reencrypt): Promise<ReencryptCount> {
    const { table, key, context } = column;
    const { value, condition } = sqlOf(column);
    const selected = [`${key.column}::text AS key`, ...context.map((name) => `${name}::text AS ${name}`)];
    const rowsWhere = (range: string): string =>
      `SELECT ${selected.join(', ')}, ${value} AS stored FROM headrace.${table}
        WHERE ${range} AND ${condition} ORDER BY ${key.column}`;
    const total = { changed: 0, broken: 0 };
    for (let after: string | null = null; ;) {
      const end: string | null = await endOfWindow(this.database, column, after);
      if (end === null) return total;
      const range = `($1::${key.type} IS NULL OR ${key.column} > $1) AND ${key.column} <= $2::${key.type}`;
      for (const row of await this.database.query<Row>(rowsWhere(range), [after, end])) {
        const count = await reencryptRow(this.database, column, row, reencrypt, async () => {
          const [again] = await this.database.query<Row>(rowsWhere(`${key.column} = $1::${key.type}`), [row.key]);
          return again;
        });
        total.changed += count.changed;
        total.broken += count.broken;
      }
      after = end;
    }
  }
}

export function byTable(columns: readonly EncryptedColumn[]): ReadonlyMap<string, readonly EncryptedColumn[]> {
  const tables = new Map<string, EncryptedColumn[]>();
  for (const column of columns) tables.set(column.table, [...(tables.get(column.table) ?? []), column]);
  return tables;
}

interface ColumnSql {
  readonly type: 'text' | 'jsonb';
  /** Reads what is stored. */
  readonly value: string;
  /** Writes `$2` in its place. */
  readonly assignment: string;
  /** Which rows can hold sealed values. */
  readonly condition: string;
}

function sqlOf({ column, json }: EncryptedColumn): ColumnSql {
  const path = json?.path;
  const value = path === undefined ? column : `${column}->'${path}'`;
  const present = `${value} IS NOT NULL`;
  return {
    type: json ? 'jsonb' : 'text',
    value,
    assignment: `${column} = ${path === undefined ? '$2' : `jsonb_set(${column}, '{${path}}', $2::jsonb)`}`,
    condition: json?.prefix === undefined ? present : `${present} AND (${value})::text LIKE '%${json.prefix}%'`,
  };
}

async function endOfWindow(
  database: Database,
  { table, key: { column, type } }: EncryptedColumn,
  after: string | null,
): Promise<string | null> {
  const [row] = await database.query<{ key: string }>(
    `SELECT key::text FROM (SELECT ${column} AS key FROM headrace.${table}
       WHERE $1::${type} IS NULL OR ${column} > $1 ORDER BY ${column} LIMIT ${WINDOW}) w ORDER BY w.key DESC LIMIT 1`,
    [after],
  );
  return row?.key ?? null;
}

/** Writes only over what was read: a row that another transaction changes in between is read again. */
async function reencryptRow(
  database: Database,
  column: EncryptedColumn,
  first: Row,
  reencrypt: Reencrypt,
  readAgain: () => Promise<Row | undefined>,
): Promise<ReencryptCount> {
  const { table, key } = column;
  const { type, value, assignment } = sqlOf(column);
  let row: Row | undefined = first;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    // The row was deleted, or its value was.
    if (!row || row.stored === null) return { changed: 0, broken: 0 };
    const { count, change } = counting(reencrypt);
    const replaced = mapValues(column, row.stored, row, onSealed(column, change, { keepsPrefix: true }));
    if (count.changed === 0) return count;
    const written = await database.query(
      `UPDATE headrace.${table} SET ${assignment} WHERE ${key.column} = $1::${key.type} AND ${value} = $3::${type} RETURNING 1`,
      [row.key, ...[replaced, row.stored].map((item) => (type === 'jsonb' ? JSON.stringify(item) : item))],
    );
    if (written.length > 0) return count;
    row = await readAgain();
  }
  throw new Error(
    `A row of ${table} was changed during each of ${MAX_ATTEMPTS} attempts; run the command again later.`,
  );
}

function counting(reencrypt: Reencrypt): {
  readonly count: { changed: number; broken: number };
  readonly change: (sealed: string, purpose: string) => string;
} {
  const count = { changed: 0, broken: 0 };
  const change = (sealed: string, purpose: string): string => {
    try {
      const replaced = reencrypt(sealed, purpose);
      if (replaced !== null) count.changed += 1;
      return replaced ?? sealed;
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      count.broken += 1;
      return sealed;
    }
  };
  return { count, change };
}
