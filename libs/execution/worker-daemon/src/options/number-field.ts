import { z } from 'zod';

/** A number of a config file, or the text of a flag. What is no number at all is told like one that does not fit. */
export const numberField = (min: number, max: number) => field(min, max, 'number', /^\s*[+-]?\d+(\.\d+)?\s*$/);

export const wholeNumberField = (min: number, max: number) =>
  field(min, max, 'whole number', /^\s*[+-]?\d+\s*$/).refine(Number.isSafeInteger, ruleOf('whole number', min, max));

// Not coerced: Number('') is 0, and what is empty would be taken for a choice.
function field(min: number, max: number, noun: string, text: RegExp) {
  const rule = ruleOf(noun, min, max);
  const fromText = z.string().regex(text).transform(Number);
  return z.union([z.number(), fromText], rule).pipe(z.number(rule).min(min, rule).max(max, rule));
}

const ruleOf = (noun: string, min: number, max: number): string => `must be a ${noun} from ${min} to ${max}`;
