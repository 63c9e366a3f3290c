/** The values of a field, in order; null: it is not restricted (`*`). */
type Values = readonly number[] | null;

interface FieldRules {
  readonly lowest: number;
  readonly highest: number;
  readonly names: readonly string[];
}

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const FIELDS: readonly FieldRules[] = [
  { lowest: 0, highest: 59, names: [] },
  { lowest: 0, highest: 23, names: [] },
  { lowest: 1, highest: 31, names: [] },
  { lowest: 1, highest: 12, names: ['', ...MONTHS] },
  { lowest: 0, highest: 7, names: WEEKDAYS },
];
/** A longer list is no easier to read than the expression. */
const MAX_LISTED = 6;

function numberOf(text: string, { lowest, highest, names }: FieldRules): number | undefined {
  const named = names.findIndex((name) => name !== '' && name.slice(0, 3).toLowerCase() === text.toLowerCase());
  const value = named >= 0 ? named : /^\d+$/.test(text) ? Number(text) : -1;
  return value >= lowest && value <= highest ? value : undefined;
}

function valuesOf(text: string, rules: FieldRules): readonly number[] | undefined {
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const [, range = '', step] = /^([^/]*)(?:\/([1-9]\d*))?$/.exec(part) ?? [];
    const [from = '', to] = range === '*' ? [String(rules.lowest), String(rules.highest)] : range.split('-');
    const first = numberOf(from, rules);
    const isSunday = rules.names === WEEKDAYS && to !== undefined && /^sun$/i.test(to);
    const last = to === undefined ? first : isSunday ? 7 : numberOf(to, rules);
    if (first === undefined || last === undefined || last < first || (to === undefined && step !== undefined))
      return undefined;
    for (let value = first; value <= last; value += Number(step ?? 1))
      found.add(rules.names === WEEKDAYS ? value % 7 : value);
  }
  return [...found].sort((a, b) => a - b);
}

const list = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`;
const twoDigits = (value: number): string => String(value).padStart(2, '0');
const clock = (hour: number, minute: number): string => `${twoDigits(hour)}:${twoDigits(minute)}`;
const isRange = (values: readonly number[]): boolean =>
  values.length > 2 && values.every((value, index) => index === 0 || value === (values[index - 1] ?? 0) + 1);

/** The distance of values that begin at the lowest one and divide the whole of `size`, such as 15 of 0, 15, 30 and 45 minutes. */
function interval(values: readonly number[], size: number): number | undefined {
  const distance = (values[1] ?? size) - (values[0] ?? 0);
  const isEven = values[0] === 0 && values.every((value, index) => value === index * distance);
  return isEven && values.length * distance === size ? distance : undefined;
}

function named(values: readonly number[], names: readonly string[]): string | undefined {
  const name = (value: number | undefined): string => names[value ?? 0] ?? '';
  if (isRange(values)) return `${name(values[0])} to ${name(values.at(-1))}`;
  return values.length <= MAX_LISTED ? list(values.map(name)) : undefined;
}

const ordinal = (day: number): string =>
  `${day}${day % 10 === 1 && day !== 11 ? 'st' : day % 10 === 2 && day !== 12 ? 'nd' : day % 10 === 3 && day !== 13 ? 'rd' : 'th'}`;

/** `at 09:00`, or `every 15 minutes`, which needs no day. */
function times(minutes: Values, hours: Values): { readonly text: string; readonly isRepeated: boolean } | undefined {
  const every = minutes === null ? 1 : interval(minutes, 60);
  const [minute] = minutes ?? [];
  if (minutes !== null && minutes.length === 1 && minute !== undefined) {
    if (hours === null)
      return { text: minute === 0 ? 'every hour' : `every hour at ${minute} min past`, isRepeated: true };
    const hourly = hours.length > 1 ? interval(hours, 24) : undefined;
    if (hourly !== undefined && hourly > 1)
      return { text: `every ${hourly} hours from ${clock(0, minute)}`, isRepeated: true };
    if (hours.length <= MAX_LISTED)
      return { text: `at ${list(hours.map((hour) => clock(hour, minute)))}`, isRepeated: false };
    if (isRange(hours)) {
      const [from = 0, to = 0] = [hours[0], hours.at(-1)];
      return { text: `every hour from ${clock(from, minute)} to ${clock(to, minute)}`, isRepeated: true };
    }
    return undefined;
  }
  if (every === undefined || every >= 60) return undefined;
  const text = every === 1 ? 'every minute' : `every ${every} minutes`;
  if (hours === null) return { text, isRepeated: true };
  if (hours.length !== 1 && !isRange(hours)) return undefined;
  const [from = 0, to = 0] = [hours[0], hours.at(-1)];
  return { text: `${text} from ${clock(from, 0)} to ${clock(to, 60 - every)}`, isRepeated: true };
}

/** The days; undefined: they cannot be described. An empty text: every day. */
function days(dates: Values, weekdays: Values): string | undefined {
  const date = dates === null ? '' : dates.length <= MAX_LISTED ? `on the ${list(dates.map(ordinal))}` : undefined;
  const names = weekdays === null ? '' : named(weekdays, WEEKDAYS);
  if (date === undefined || names === undefined) return undefined;
  if (dates === null) return names === '' ? '' : `on ${names}`;
  // Days that match either field.
  return names === '' ? `${date} of the month` : `${date} of the month, and on each ${names}`;
}

/** What a cron expression of the API means, in words; null for what is not easier to read in words, or is not valid. */
export function describeCron(expression: string): string | null {
  const texts = expression.trim().split(/\s+/);
  if (texts.length !== FIELDS.length) return null;
  const fields = FIELDS.map((rules, index): Values | undefined => {
    const text = texts[index] ?? '';
    return text === '*' ? null : valuesOf(text, rules);
  });
  const [minutes, hours, dates, months, weekdays] = fields;
  if (minutes === undefined || hours === undefined || dates === undefined) return null;
  if (months === undefined || weekdays === undefined) return null;
  // Every value of a field that is no `*`, such as `0-6`, still selects all days.
  if ((weekdays?.length === 7 && dates !== null) || (dates?.length === 31 && weekdays !== null)) return null;
  const time = times(minutes?.length === 60 ? null : minutes, hours?.length === 24 ? null : hours);
  const day = days(dates?.length === 31 ? null : dates, weekdays?.length === 7 ? null : weekdays);
  const month = months === null ? '' : named(months, FIELDS[3]?.names ?? []);
  if (time === undefined || day === undefined || month === undefined) return null;
  const when = day !== '' ? day : time.isRepeated ? '' : 'every day';
  const text = [time.text, when, month === '' ? '' : `in ${month}`].filter((part) => part !== '').join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
