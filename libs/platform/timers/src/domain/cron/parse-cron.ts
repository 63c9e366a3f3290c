import { DAY, HOUR, MINUTE, MONTH, parseCronField, type ParsedField, WEEKDAY } from './cron-fields.js';
import { type Cron, CronerCron, type CronPattern } from './croner-cron.js';
import { isTimeZone } from './time-zone.js';

/** `detail` continues “`cron_schedule` …”. */
export type ParsedCron = { kind: 'valid'; cron: Cron } | { kind: 'invalid'; detail: string };

type ReadField = Extract<ParsedField, { kind: 'valid' }>;

const LONGEST_EXPRESSION = 256;
const FIELDS = [MINUTE, HOUR, DAY, MONTH, WEEKDAY] as const;
const SHAPE = 'must have five fields: minute hour day month weekday';
/** In a leap year: 29 February does come. */
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads a five-field expression. `timezone`: a name that was known when it was stored may be unknown to another Node.js. */
export function parseCron(expression: string, timezone = 'UTC'): ParsedCron {
  const refused = refuseShape(expression);
  if (refused !== null) return { kind: 'invalid', detail: refused };
  if (!isTimeZone(timezone))
    return { kind: 'invalid', detail: `is for the time zone ${timezone}, which is not known here` };
  const texts = expression.trim().split(/[ \t]+/);
  const read: ReadField[] = [];
  for (const [index, field] of FIELDS.entries()) {
    const parsed = parseCronField(field, texts[index] ?? '');
    if (parsed.kind === 'invalid') return parsed;
    read.push(parsed);
  }
  const [minute, hour, day, month, weekday] = read;
  if (!minute || !hour || !day || !month || !weekday) return { kind: 'invalid', detail: SHAPE };
  if (weekday.isEvery && !isPossible(day, month)) {
    return { kind: 'invalid', detail: `is never due: no month "${texts[3]}" has a day "${texts[2]}"` };
  }
  const pattern = patternOf([minute, hour, day, month, weekday]);
  return { kind: 'valid', cron: new CronerCron(texts.join(' '), timezone, pattern) };
}

function refuseShape(expression: string): string | null {
  if (expression.length > LONGEST_EXPRESSION) return `must not exceed ${LONGEST_EXPRESSION} characters`;
  const text = expression.trim();
  if (text.startsWith('@')) return `${SHAPE}; descriptors such as @daily are not supported`;
  if (/^(CRON_)?TZ=/i.test(text)) return `${SHAPE}; a time zone goes into timezone, not before the expression`;
  const count = text === '' ? 0 : text.split(/\s+/).length;
  if (count !== FIELDS.length) {
    const more = count === 6 || count === 7 ? '; seconds and years are not supported' : '';
    return `${SHAPE}; it has ${count}${more}`;
  }
  return /[^\S \t]/.test(text) ? `${SHAPE}, on one line, with spaces between them` : null;
}

function isPossible(day: ReadField, month: ReadField): boolean {
  const first = day.values[0] ?? 1;
  return month.values.some((value) => first <= (DAYS_OF_MONTH[value - 1] ?? 0));
}

function patternOf(fields: readonly [ReadField, ReadField, ReadField, ReadField, ReadField]): CronPattern {
  const text = fields.map(({ isEvery, values }) => (isEvery ? '*' : values.join(','))).join(' ');
  return { text, isEveryHour: fields[1].values.length === HOUR.size };
}
