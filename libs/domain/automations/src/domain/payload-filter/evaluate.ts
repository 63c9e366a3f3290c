import { faultOf } from './explain.js';
import type { PayloadFilter } from './filter.js';

export interface FilterVerdict {
  readonly matched: boolean;
  /** One sentence for people, at most 500 characters: where it does not match, the clause and the value that decided it. */
  readonly reason: string;
}

/**
 * Whether a payload, as `JSON.parse` gives it, is one that the filter asks for. Never throws. Takes time in proportion to
 * the payload's size, whatever its shape and the filter's: each value is looked at under at most one clause.
 */
export function evaluatePayloadFilter({ root, leaves }: PayloadFilter, payload: unknown): FilterVerdict {
  if (root.clauses.length === 0) return { matched: true, reason: 'There is no filter.' };
  const fault = faultOf(root, payload);
  if (fault !== undefined) return { matched: false, reason: fault };
  return { matched: true, reason: leaves === 1 ? 'The clause matches.' : `All ${leaves} clauses match.` };
}
