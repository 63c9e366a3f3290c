import type { Issue } from '#platform/kernel';
import { matchesGlob, MAX_ALL_WILDCARDS, MAX_WILDCARDS, wildcardsIn } from './forge-events/glob.js';
import { preview, previewList } from './payload-filter/preview.js';
import type { TriggerCheck } from './trigger.js';

/** Of a list in the filter of a trigger. */
export const MAX_VALUES = 50;
/** Characters. */
export const MAX_VALUE = 255;

/** A field of a filter whose values are texts. */
export interface ListField {
  readonly description: string;
  readonly isPattern?: true;
  readonly values?: readonly string[];
}

/** The pointer is into the list. */
export function listIssue(value: unknown, field: ListField | undefined): Issue | null {
  if (value === undefined) return null;
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_VALUES)
    return { pointer: '', detail: `must be an array of 1 to ${MAX_VALUES} texts` };
  let wildcards = 0;
  for (const [index, item] of (value as readonly unknown[]).entries()) {
    const pointer = `/${index}`;
    if (typeof item !== 'string' || item.trim() === '' || item.length > MAX_VALUE)
      return { pointer, detail: `must be text of 1 to ${MAX_VALUE} characters` };
    if (field?.values && !field.values.includes(item))
      return { pointer, detail: `must be one of ${field.values.join(', ')}` };
    if (!field?.isPattern) continue;
    const own = wildcardsIn(item);
    wildcards += own;
    if (own > MAX_WILDCARDS) return { pointer, detail: `must not have more than ${MAX_WILDCARDS} wildcards` };
    if (wildcards > MAX_ALL_WILDCARDS)
      return { pointer: '', detail: `must not have more than ${MAX_ALL_WILDCARDS} wildcards in all patterns` };
  }
  return null;
}

export const failed = (check: string, reason: string): TriggerCheck => ({ check, passed: false, reason });

interface PatternSubject {
  readonly subject: string;
  readonly isFolded?: true;
}

/** Whether a value matches a pattern; null without patterns. */
export function patternCheck(
  check: string,
  patterns: readonly string[] | null,
  values: readonly string[],
  { subject, isFolded }: PatternSubject,
): TriggerCheck | null {
  if (patterns === null) return null;
  const folded = isFolded ? patterns.map((pattern) => pattern.toLowerCase()) : patterns;
  for (const value of values)
    for (const [index, pattern] of folded.entries())
      if (matchesGlob(value, pattern))
        return { check, passed: true, reason: `${preview(value)} matches ${preview(patterns[index])}.` };
  return failed(check, `${subject} matches none of ${previewList(new Set(patterns))}.`);
}
