import { createHash } from 'node:crypto';

/** What a scheme may sign, named in its template between braces. */
const NAMES = ['body', 'timestamp', 'id', 'url', 'method'] as const;
export type ContentName = (typeof NAMES)[number];

export type ContentValues = Readonly<Record<Exclude<ContentName, 'body'>, string | null>> & { readonly body: Buffer };

type Part = { readonly name: ContentName; readonly next: string } | { readonly literal: Buffer };

/** The bytes that a scheme signs, as a template says: `v0:{timestamp}:{body}`. */
export class SignedContent {
  private readonly parts: readonly Part[];

  /** @throws Error for a name that does not exist: a scheme with a mistake keeps the service from starting. */
  constructor(private readonly template: string) {
    const pieces = template.split(/\{([a-z]+)\}/);
    this.parts = pieces.flatMap((piece, index): Part[] => {
      if (index % 2 === 0) return piece === '' ? [] : [{ literal: Buffer.from(piece, 'utf8') }];
      const name = NAMES.find((known) => known === piece);
      if (name === undefined)
        throw new Error(`The template ${template} names ${piece}, which is nothing that is signed.`);
      return [{ name, next: pieces[index + 1] ?? '' }];
    });
  }

  has(name: ContentName): boolean {
    return this.template.includes(`{${name}}`);
  }

  /**
   * In parts, so that the body is not copied. Null when a value is missing, or when an id contains what separates it
   * from the next part: `a.1` before `2` and `a` before `1.2` would be the same bytes.
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

/** How a sender writes the time of signing. */
export type TimeUnit = 's' | 'ms' | 'rfc3339';

/** What the contract lets a signature differ from our clock, to both sides, unless the scheme says less. */
export const DEFAULT_TOLERANCE_SECONDS = 300;

const DIGITS = /^\d{1,15}$/;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Whether a time as sent is one and is at most so far from now, behind or ahead; the bound itself is within. Whole
 * seconds are compared as whole seconds, so that a sender is not refused for the fraction that it could not write.
 */
export function isTimely(text: string, unit: TimeUnit, now: Date, toleranceSeconds: number): boolean {
  const nowMs = now.getTime();
  switch (unit) {
    case 's':
      return DIGITS.test(text) && Math.abs(Math.floor(nowMs / 1000) - Number(text)) <= toleranceSeconds;
    case 'ms':
      return DIGITS.test(text) && Math.abs(nowMs - Number(text)) <= toleranceSeconds * 1000;
    case 'rfc3339':
      // An impossible date is NaN, which is not within anything.
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
 * For senders that sign only the address and put the body's hash into its query. Whether the parameter is there, once,
 * and is the hexadecimal SHA-256 of the body.
 */
export function bindsBody(url: string, parameter: string, body: Buffer): boolean {
  const start = url.indexOf('?');
  if (start < 0) return false;
  const values = new URLSearchParams(url.slice(start + 1)).getAll(parameter);
  return values.length === 1 && values[0] === hashOf(body);
}

export function withBodyHash(url: string, parameter: string, body: Buffer): string {
  return `${url}${url.includes('?') ? '&' : '?'}${parameter}=${hashOf(body)}`;
}

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex');
