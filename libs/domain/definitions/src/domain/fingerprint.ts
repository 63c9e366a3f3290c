import { createHash } from 'node:crypto';
import { canonicalJson } from '#platform/kernel';

/** What a resource is, as far as files can say it: by the names that fields have in the files. */
export type Shape = Readonly<Record<string, unknown>>;

/** SHA-256 of what the shape says. Fields that are not set, or empty, say nothing. */
export function fingerprint(shape: Shape): string {
  return createHash('sha256')
    .update(canonicalJson(spoken(shape)))
    .digest('hex');
}

/** The fields in which the two differ, in the order of their names. */
export function differences(one: Shape, other: Shape): string[] {
  const [left, right] = [spoken(one), spoken(other)];
  const fields = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...fields].filter((field) => canonicalJson(left[field]) !== canonicalJson(right[field])).sort();
}

function spoken(shape: Shape): Record<string, unknown> {
  return Object.fromEntries(Object.entries(shape).filter(([, value]) => !isSilent(value)));
}

function isSilent(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
