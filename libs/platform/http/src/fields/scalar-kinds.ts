import { type Kind, wrong } from './field.js';

export interface TextOptions {
  /** Characters (UTF-16 code units). */
  readonly min?: number;
  readonly max?: number;
  /** Bytes of UTF-8. */
  readonly maxBytes?: number;
  /** false: must contain a character other than white space. */
  readonly blank?: boolean;
  readonly pattern?: RegExp;
  /** Completes "must be …" for the pattern, e.g. `exactly 22 letters or digits`. */
  readonly says?: string;
}

const identity = (raw: unknown): unknown => raw;

export function text({ min, max, maxBytes, blank, pattern, says }: TextOptions = {}): Kind {
  return {
    schema: {
      type: 'string',
      ...(min !== undefined || blank === false ? { minLength: Math.max(min ?? 0, blank === false ? 1 : 0) } : {}),
      ...(max !== undefined ? { maxLength: max } : {}),
      ...(pattern ? { pattern: pattern.source } : {}),
    },
    read: identity,
    check(value) {
      if (typeof value !== 'string') return wrong('must be a string');
      if (blank === false && value.trim() === '') return wrong('must not be blank');
      if (min !== undefined && value.length < min) return wrong(`must have at least ${min} characters`);
      if (max !== undefined && value.length > max) return wrong(`must not exceed ${max} characters`);
      if (maxBytes !== undefined && Buffer.byteLength(value) > maxBytes)
        return wrong(`must not exceed ${maxBytes} bytes in UTF-8`);
      if (pattern && !pattern.test(value)) return wrong(`must be ${says ?? `text that matches ${pattern.source}`}`);
      return [];
    },
  };
}

export interface RangeOptions {
  readonly min?: number;
  readonly max?: number;
}

const rangeText = (noun: string, { min, max }: RangeOptions): string => {
  if (min !== undefined && max !== undefined) return `must be ${noun} between ${min} and ${max}`;
  if (min !== undefined) return `must be ${noun} of at least ${min}`;
  if (max !== undefined) return `must be ${noun} of at most ${max}`;
  return `must be ${noun}`;
};

/** `format`: how a query spells it. The document allows neither `+5`, `1e2` nor ` 5`, and no `5.0` for an integer. */
function numeric(
  type: 'integer' | 'number',
  format: RegExp,
  isValid: (value: unknown) => boolean,
  range: RangeOptions,
): Kind {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = range;
  const detail = rangeText(type === 'integer' ? 'an integer' : 'a number', range);
  return {
    schema: {
      type,
      ...(range.min !== undefined ? { minimum: range.min } : {}),
      ...(range.max !== undefined ? { maximum: range.max } : {}),
    },
    read: (raw, source) => (source === 'query' && typeof raw === 'string' && format.test(raw) ? Number(raw) : raw),
    check: (value) => (isValid(value) && (value as number) >= min && (value as number) <= max ? [] : wrong(detail)),
  };
}

export const integer = (range: RangeOptions = {}): Kind =>
  numeric('integer', /^-?\d{1,15}$/, Number.isSafeInteger, range);

export const number = (range: RangeOptions = {}): Kind =>
  numeric('number', /^-?\d{1,15}(\.\d{1,15})?$/, Number.isFinite, range);

export function boolean(): Kind {
  return {
    schema: { type: 'boolean' },
    read: (raw, source) => (source === 'query' && (raw === 'true' || raw === 'false') ? raw === 'true' : raw),
    check: (value) => (typeof value === 'boolean' ? [] : wrong('must be true or false')),
  };
}

export function oneOf(values: readonly string[], name?: string): Kind {
  return {
    schema: { enum: [...values], ...(name === undefined ? { type: 'string' } : { enumName: name }) },
    read: identity,
    check: (value) =>
      typeof value === 'string' && values.includes(value) ? [] : wrong(`must be one of ${values.join(', ')}`),
  };
}

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** A strict RFC 3339 time as a Date, or null. A leap second is parsed as the next second. */
export function parseDateTime(value: string): Date | null {
  const match = RFC_3339.exec(value);
  if (!match) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const leap = match[5] === '60';
  const time = Date.parse(leap ? value.replace(/:60/, ':59') : value);
  const lastOfMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return Number.isNaN(time) || month < 1 || day < 1 || day > lastOfMonth ? null : new Date(leap ? time + 1000 : time);
}

export function dateTime(): Kind {
  return {
    schema: { type: 'string', format: 'date-time' },
    read: (raw) => (typeof raw === 'string' ? (parseDateTime(raw) ?? raw) : raw),
    check(value) {
      if (value instanceof Date) return [];
      // A + in a query string is decoded as a space.
      const isPlusDecoded = typeof value === 'string' && parseDateTime(value.replace(/ (?=\d\d:\d\d$)/, '+')) !== null;
      return wrong(
        isPlusDecoded
          ? 'must have the + of its offset encoded as %2B: a plain + in a query string is a space'
          : 'must be a time in RFC 3339, such as 2026-11-30T09:00:00Z',
      );
    },
  };
}

export function json(): Kind {
  return { schema: {}, read: identity, check: () => [] };
}
