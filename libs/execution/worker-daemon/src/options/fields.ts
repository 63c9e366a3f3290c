import { z } from 'zod';

const UNITS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `250ms`, `90s`, `10m` or `10min`, `24h`, `7d` in milliseconds; null for any other text. */
function parseDuration(value: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d)$/.exec(value);
  return match ? Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]) : null;
}

export const durationField = (fallback: string, min: string, max: string) =>
  z
    .string()
    .default(fallback)
    .transform((value, context) => {
      const parsed = parseDuration(value);
      if (parsed !== null && parsed >= (parseDuration(min) ?? 0) && parsed <= (parseDuration(max) ?? 0)) return parsed;
      context.addIssue({
        code: 'custom',
        message: `must be a duration such as 90s or 10min, between ${min} and ${max}`,
      });
      return z.NEVER;
    });

/** A number of the configuration file, or the text of a flag. */
export const numberField = (min: number, max: number) => field(min, max, 'a number', /^\s*[+-]?\d+(\.\d+)?\s*$/);

export const integerField = (min: number, max: number) =>
  field(min, max, 'an integer', /^\s*[+-]?\d+\s*$/).refine(Number.isSafeInteger, ruleOf('an integer', min, max));

// Not z.coerce: Number('') is 0, so an empty value would be accepted.
function field(min: number, max: number, noun: string, text: RegExp) {
  const rule = ruleOf(noun, min, max);
  const fromText = z.string().regex(text).transform(Number);
  return z.union([z.number(), fromText], rule).pipe(z.number(rule).min(min, rule).max(max, rule));
}

const ruleOf = (noun: string, min: number, max: number): string => `must be ${noun} between ${min} and ${max}`;
