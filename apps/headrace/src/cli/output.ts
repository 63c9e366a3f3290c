export interface OutputValues {
  readonly json?: boolean;
}

type Cell = string | number | Date | null;

export function printResult({ json }: OutputValues, data: unknown, text: string): void {
  process.stdout.write(`${json === true ? JSON.stringify(data, null, 2) : text}\n`);
}

export const printJson = (data: unknown): void => printResult({ json: true }, data, '');

export function printTable<T>(
  values: OutputValues,
  items: readonly T[],
  columns: readonly string[],
  rowOf: (item: T) => readonly Cell[],
): void {
  printResult(values, items, renderTable(columns, items.map(rowOf)));
}

export const timeCell = (value: string | null | undefined): Date | null =>
  value === null || value === undefined ? null : new Date(value);

/** Prints a table whose rows are not resources of the API; as JSON, objects with the names of the columns as keys. */
export function printRows(values: OutputValues, columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const keys = columns.map((column) => column.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'));
  const objects = rows.map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index] ?? null])));
  printResult(values, objects, renderTable(columns, rows));
}

/** Aligned columns with a header; times in UTC, missing values as a dash. */
export function renderTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
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

function show(value: Cell): string {
  if (value === null || value === '') return '-';
  if (value instanceof Date) return `${value.toISOString().slice(0, 19)}Z`;
  return printable(String(value));
}

/** All control characters except line ends and tabs. */
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
/** Also marks that change the order in which a text is shown. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Text of others on one line of a terminal: control characters are replaced, so that none moves the cursor. */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, '\uFFFD');

const MAX_OUTPUT_LINES = 20;

export function firstLines(prefix: string, text: string): string[] {
  const lines = text.split('\n');
  const rest = lines.length - MAX_OUTPUT_LINES;
  const shown = rest > 1 ? [...lines.slice(0, MAX_OUTPUT_LINES), `… ${rest} more lines`] : lines;
  return shown.map((line) => prefix + line);
}

const MAX_LINE = 200;

/** Writes lines, and text that continues the last line, without control characters. */
export class LineWriter {
  private isWithinLine = false;

  constructor(private readonly write: (text: string) => void) {}

  protected say(text: string): void {
    if (text === '') return;
    this.write(text.replaceAll(CONTROL_CHARACTERS, '\uFFFD'));
    this.isWithinLine = !text.endsWith('\n');
  }

  protected line(text: string): void {
    const shown = (text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text).replaceAll('\t', '    ');
    this.completeLine();
    this.write(`${printable(shown)}\n`);
  }

  completeLine(): void {
    if (this.isWithinLine) this.write('\n');
    this.isWithinLine = false;
  }
}
