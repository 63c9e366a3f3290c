import { hash } from 'node:crypto';

const NAMES = ['body', 'timestamp', 'id', 'url', 'method'] as const;
export type ContentName = (typeof NAMES)[number];

export type ContentValues = Readonly<Record<Exclude<ContentName, 'body'>, string | null>> & { readonly body: Buffer };

type Part = { readonly name: ContentName; readonly next: string } | { readonly literal: Buffer };

/** The bytes that a scheme signs, by a template such as `v0:{timestamp}:{body}`. */
export class SignedContent {
  private readonly parts: readonly Part[];

  /** @throws Error for an unknown name, so that the service does not start with an invalid scheme. */
  constructor(private readonly template: string) {
    const pieces = template.split(/\{([a-z]+)\}/);
    this.parts = pieces.flatMap((piece, index): Part[] => {
      if (index % 2 === 0) return piece === '' ? [] : [{ literal: Buffer.from(piece, 'utf8') }];
      const name = NAMES.find((known) => known === piece);
      if (name === undefined) throw new Error(`The template ${template} contains the unknown value ${piece}.`);
      return [{ name, next: pieces[index + 1] ?? '' }];
    });
  }

  has(name: ContentName): boolean {
    return this.template.includes(`{${name}}`);
  }

  /**
   * In parts, so that the body is not copied. Null when a value is missing, or when an id contains its separator: the id
   * `a.1` followed by `2` and the id `a` followed by `1.2` would be the same bytes.
   */
  of(values: ContentValues): readonly Buffer[] | null {
    const bytes: Buffer[] = [];
    for (const part of this.parts) {
      if ('literal' in part) {
        bytes.push(part.literal);
      } else if (part.name === 'body') {
        bytes.push(values.body);
      } else {
        const value = values[part.name];
        if (value === null || (part.name === 'id' && part.next !== '' && value.includes(part.next))) return null;
        bytes.push(Buffer.from(value, 'utf8'));
      }
    }
    return bytes;
  }
}

export type TimeUnit = 's' | 'ms' | 'rfc3339';

/** The tolerance of the contract in both directions, unless the scheme has a smaller one. */
export const DEFAULT_TOLERANCE_SECONDS = 300;

const DIGITS = /^\d{1,15}$/;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Whether the text is a valid time within the tolerance of now, in both directions, inclusive. Whole seconds are compared
 * with whole seconds, so that the missing fraction does not count.
 */
export function isTimely(text: string, unit: TimeUnit, now: Date, toleranceSeconds: number): boolean {
  const nowMs = now.getTime();
  switch (unit) {
    case 's':
      return DIGITS.test(text) && Math.abs(Math.floor(nowMs / 1000) - Number(text)) <= toleranceSeconds;
    case 'ms':
      return DIGITS.test(text) && Math.abs(nowMs - Number(text)) <= toleranceSeconds * 1000;
    case 'rfc3339':
      // An invalid date is NaN, for which the comparison is false.
      return RFC3339.test(text) && Math.abs(nowMs - Date.parse(text)) <= toleranceSeconds * 1000;
  }
}

export function writeTime(now: Date, unit: TimeUnit): string {
  switch (unit) {
    case 's':
      return String(Math.floor(now.getTime() / 1000));
    case 'ms':
      return String(now.getTime());
    case 'rfc3339':
      return now.toISOString();
  }
}

/**
 * For senders that sign the URL and put the hash of the body into its query: whether the parameter occurs once and is the
 * hexadecimal SHA-256 of the body.
 */
export function bindsBody(url: string, parameter: string, body: Buffer): boolean {
  const start = url.indexOf('?');
  if (start < 0) return false;
  const values = new URLSearchParams(url.slice(start + 1)).getAll(parameter);
  return values.length === 1 && values[0] === hash('sha256', body);
}

export function withBodyHash(url: string, parameter: string, body: Buffer): string {
  return `${url}${url.includes('?') ? '&' : '?'}${parameter}=${hash('sha256', body)}`;
}
