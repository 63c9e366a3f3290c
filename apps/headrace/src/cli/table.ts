import { printable } from './printable.js';

/** Rows as aligned columns under their names; dates in UTC, absent values as a dash. */
export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly (string | number | Date | null)[])[],
): string {
  const cells = [columns, ...rows.map((row) => row.map(show))];
  const widths = columns.map((_column, index) => Math.max(...cells.map((row) => (row[index] ?? '').length)));
  return cells
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function show(value: string | number | Date | null): string {
  if (value === null || value === '') return '-';
  if (value instanceof Date) return `${value.toISOString().slice(0, 19)}Z`;
  return printable(String(value));
}
