import { renderTable } from './table.js';

/** Option of every command that prints a result. */
export const OUTPUT_OPTIONS = { json: { type: 'boolean' } } as const;

export interface OutputValues {
  readonly json?: boolean;
}

type Cell = string | number | Date | null;

/** Prints a result to standard output: as JSON where `--json` asks for it, else as text for people. */
export function printResult({ json }: OutputValues, data: unknown, text: string): void {
  process.stdout.write(`${json === true ? JSON.stringify(data, null, 2) : text}\n`);
}

/** As `printResult`, with one row of a table for each item. */
export function printTable<T>(
  values: OutputValues,
  items: readonly T[],
  columns: readonly string[],
  rowOf: (item: T) => readonly Cell[],
): void {
  printResult(values, items, renderTable(columns, items.map(rowOf)));
}

/** A time of an API response as a cell. */
export const timeCell = (value: string | null | undefined): Date | null =>
  value === null || value === undefined ? null : new Date(value);

/** A table whose rows are not resources of the API; as JSON, objects with the names of the columns as keys. */
export function printRows(values: OutputValues, columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const keys = columns.map((column) => column.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'));
  const objects = rows.map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index] ?? null])));
  printResult(values, objects, renderTable(columns, rows));
}
