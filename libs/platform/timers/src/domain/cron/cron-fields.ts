export interface CronField {
  readonly name: string;
  readonly lowest: number;
  readonly highest: number;
  /** Number of different values: weekday 7 is the same as weekday 0. */
  readonly size: number;
  /** Names of values, the first one for `lowest`. */
  readonly names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

export const MINUTE: CronField = { name: 'minute', lowest: 0, highest: 59, size: 60, names: [] };
export const HOUR: CronField = { name: 'hour', lowest: 0, highest: 23, size: 24, names: [] };
export const DAY: CronField = { name: 'day of the month', lowest: 1, highest: 31, size: 31, names: [] };
export const MONTH: CronField = { name: 'month', lowest: 1, highest: 12, size: 12, names: MONTHS };
export const WEEKDAY: CronField = { name: 'weekday', lowest: 0, highest: 7, size: 7, names: WEEKDAYS };

/** `isEvery` is true for `*` alone, the one form in which a field does not restrict anything. */
export type ParsedField =
  | { kind: 'valid'; values: readonly number[]; isEvery: boolean }
  | { kind: 'invalid'; detail: string };

type Bounds = { kind: 'bounds'; from: number; to: number } | { kind: 'invalid'; problem: string };

const NUMBER = /^\d{1,2}$/;
const FOREIGN = /[LW#?H]/i;
const SUNDAY_AS_END = 7;

/** Reads one field: `*`, numbers, names, ranges, steps over `*` or a range, and lists of these. */
export function parseCronField(field: CronField, text: string): ParsedField {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range, step, ...rest] = part.split('/');
    if (range === undefined || part === '') return invalid(field, text, 'has an empty element in its list');
    if (rest.length > 0) return invalid(field, text, 'has more than one step');
    const bounds = boundsOf(field, range);
    if (bounds.kind === 'invalid') return invalid(field, text, bounds.problem);
    const every = stepOf(field, range, step);
    if (typeof every !== 'number') return invalid(field, text, every.problem);
    for (let value = bounds.from; value <= bounds.to; value += every) values.add(field === WEEKDAY ? value % 7 : value);
  }
  return { kind: 'valid', values: [...values].sort((a, b) => a - b), isEvery: text === '*' };
}

function invalid(field: CronField, text: string, problem: string): ParsedField {
  return { kind: 'invalid', detail: `has an invalid ${field.name}: "${text}" ${problem}` };
}

function boundsOf(field: CronField, range: string): Bounds {
  if (range === '*') return { kind: 'bounds', from: field.lowest, to: field.lowest + field.size - 1 };
  const [first = '', last, ...rest] = range.split('-');
  if (rest.length > 0) return { kind: 'invalid', problem: `has "${range}", which is not a range of two values` };
  const from = valueOf(field, first);
  if (from === null) return { kind: 'invalid', problem: unknownValue(field, first) };
  if (last === undefined) return { kind: 'bounds', from, to: from };
  let to = valueOf(field, last);
  if (to === null) return { kind: 'invalid', problem: unknownValue(field, last) };
  if (field === WEEKDAY && to === 0 && last.toUpperCase() === 'SUN' && from > 0) to = SUNDAY_AS_END;
  if (to < from) return { kind: 'invalid', problem: `has the range ${range}, which runs backwards` };
  return { kind: 'bounds', from, to };
}

function valueOf(field: CronField, text: string): number | null {
  const named = field.names.indexOf(text.toUpperCase());
  if (named >= 0) return field.lowest + named;
  const value = NUMBER.test(text) ? Number(text) : NaN;
  return value >= field.lowest && value <= field.highest ? value : null;
}

function unknownValue(field: CronField, text: string): string {
  const names = field.names.length === 0 ? '' : ` or ${field.names[0]} to ${field.names.at(-1)}`;
  const must = `must be ${field.lowest} to ${field.highest}${names}`;
  if (text === '') return `lacks a value; it ${must}`;
  return FOREIGN.test(text) ? `${must} (L, W, #, ? and H are not supported)` : must;
}

function stepOf(field: CronField, range: string, step: string | undefined): number | { problem: string } {
  if (step === undefined) return 1;
  const value = NUMBER.test(step) ? Number(step) : 0;
  if (value < 1 || value > field.size) return { problem: `has the step "${step}", which must be 1 to ${field.size}` };
  if (range === '*' || range.includes('-')) return value;
  const span = `${range}-${field.lowest + field.size - 1}/${step}`;
  return { problem: `has a step over the single value ${range}; a range is needed, such as ${span}` };
}
