import { z } from 'zod';
import { parseDuration } from '#platform/kernel';

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
