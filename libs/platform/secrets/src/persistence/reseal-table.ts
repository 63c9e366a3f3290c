import type { Database } from '#platform/persistence';
import type { Reseal, ResealCount } from '../application/sealed-places.js';
import { SealBrokenError } from '../secret-box.js';

/** A value, or a document of values, in each row. `sql` and `set` are SQL of ours, never of a user's. */
export interface SealedColumn<Row> {
  /** Of type `text` or `jsonb`. */
  readonly type: 'text' | 'jsonb';
  /** Reads it from the row: `secret`, `config->'mcp_servers'`. */
  readonly sql: string;
  /** Puts `$2` in its place: `secret = $2`. */
  readonly set: string;
  /** What is there with every sealed value replaced. Not called for null. */
  readonly replace: (present: unknown, row: Row, reseal: (sealed: string, context: string) => string) => unknown;
}

export interface SealedTable<Row> {
  readonly name: string;
  /** The primary key, which becomes `key` of the rows, as text. */
  readonly key: { readonly column: string; readonly type: 'text' | 'uuid' | 'bigint' };
  /** Further text columns of the rows, for contexts. */
  readonly also?: readonly (keyof Row & string)[];
  /** Which rows can hold sealed values at all. */
  readonly where?: string;
  readonly columns: readonly SealedColumn<Row>[];
}

/** Keys that one statement goes through: it has to end in time however few of the rows hold anything. */
const WINDOW = 2000;
/** Somebody who writes a row all the time must not hold us for ever. */
const MAX_TRIES = 10;

/** Goes through a table by its key. A row that changes between reading and writing is read again. */
export async function resealTable<Row extends { key: string }>(
  database: Database,
  table: SealedTable<Row>,
  reseal: Reseal,
): Promise<ResealCount> {
  const { name, key, where = 'true' } = table;
  const selected = [`${key.column}::text AS key`, ...(table.also ?? []), ...table.columns.map(select)].join(', ');
  const rowsWhere = (condition: string): string =>
    `SELECT ${selected} FROM headrace.${name} WHERE ${condition} AND (${where}) ORDER BY ${key.column}`;
  const total = { changed: 0, broken: 0 };
  for (let after: string | null = null; ;) {
    const end: string | null = await endOfWindow(database, table, after);
    if (end === null) return total;
    const range = `($1::${key.type} IS NULL OR ${key.column} > $1) AND ${key.column} <= $2::${key.type}`;
    for (const row of await database.query<Row>(rowsWhere(range), [after, end])) {
      for (const index of table.columns.keys()) {
        const count = await resealValue(database, table, index, row, reseal, async () => {
          const [again] = await database.query<Row>(rowsWhere(`${key.column} = $1::${key.type}`), [row.key]);
          return again;
        });
        total.changed += count.changed;
        total.broken += count.broken;
      }
    }
    after = end;
  }
}

const valueOf = (index: number): string => `sealed_${index}`;
const select = ({ sql }: { readonly sql: string }, index: number): string => `${sql} AS ${valueOf(index)}`;

async function endOfWindow<Row>(
  database: Database,
  { name, key: { column, type } }: SealedTable<Row>,
  after: string | null,
): Promise<string | null> {
  const [row] = await database.query<{ key: string }>(
    `SELECT key::text FROM (SELECT ${column} AS key FROM headrace.${name}
       WHERE $1::${type} IS NULL OR ${column} > $1 ORDER BY ${column} LIMIT ${WINDOW}) w ORDER BY w.key DESC LIMIT 1`,
    [after],
  );
  return row?.key ?? null;
}

async function resealValue<Row extends { key: string }>(
  database: Database,
  { name, key, columns }: SealedTable<Row>,
  index: number,
  first: Row,
  reseal: Reseal,
  readAgain: () => Promise<Row | undefined>,
): Promise<ResealCount> {
  const column = columns[index];
  let row: Row | undefined = first;
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    const present = (row as Readonly<Record<string, unknown>> | undefined)?.[valueOf(index)] ?? null;
    // Deleted, or emptied.
    if (!column || !row || present === null) return NOTHING;
    const { count, anew } = counting(reseal);
    const replaced = column.replace(present, row, anew);
    if (count.changed === 0) return count;
    const written = await database.query(
      `UPDATE headrace.${name} SET ${column.set} WHERE ${key.column} = $1::${key.type} AND ${column.sql} = $3::${column.type} RETURNING 1`,
      [row.key, asParameter(column.type, replaced), asParameter(column.type, present)],
    );
    if (written.length > 0) return count;
    row = await readAgain();
  }
  throw new Error(`A row of ${name} changes all the time; repeat this when it is calmer.`);
}

const NOTHING: ResealCount = { changed: 0, broken: 0 };

const asParameter = (type: 'text' | 'jsonb', value: unknown): unknown =>
  type === 'jsonb' ? JSON.stringify(value) : value;

/** A value that does not open is counted and stays as it is. */
function counting(reseal: Reseal): {
  readonly count: { changed: number; broken: number };
  readonly anew: (sealed: string, context: string) => string;
} {
  const count = { changed: 0, broken: 0 };
  const anew = (sealed: string, context: string): string => {
    try {
      const replaced = reseal(sealed, context);
      if (replaced !== null) count.changed += 1;
      return replaced ?? sealed;
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      count.broken += 1;
      return sealed;
    }
  };
  return { count, anew };
}

/** A column that is one sealed value. */
export const sealedText = <Row>(column: string, context: (row: Row) => string): SealedColumn<Row> => ({
  type: 'text',
  sql: column,
  set: `${column} = $2`,
  replace: (present, row, reseal) => (typeof present === 'string' ? reseal(present, context(row)) : present),
});
