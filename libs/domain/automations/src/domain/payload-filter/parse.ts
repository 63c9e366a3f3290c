import type { Issue } from '#platform/kernel';
import { FilterReader } from './filter-reader.js';
import { isObject, type PayloadFilter } from './filter.js';

export type { PayloadFilter } from './filter.js';

export type ParsedFilter =
  | { readonly kind: 'valid'; readonly filter: PayloadFilter }
  /** At least one issue, at most 20. */
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] };

/**
 * Understands a filter as somebody wrote it: any JSON value as `JSON.parse` gives it. Never throws. Keys are own
 * properties, whatever they are called.
 */
export function parsePayloadFilter(raw: unknown): ParsedFilter {
  if (!isObject(raw)) {
    const detail = 'must be an object: keys of the payload, each with the values that are allowed';
    return { kind: 'invalid', issues: [{ pointer: '', detail }] };
  }
  const reader = new FilterReader();
  const filter = reader.read(raw);
  return reader.issues.length === 0 ? { kind: 'valid', filter } : { kind: 'invalid', issues: reader.issues };
}
