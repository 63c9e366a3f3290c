import type { RunState } from '#execution/executions';
import type { RunExecutionLocation, RunSourceType } from './run.js';
import type { SearchTerm } from './search-terms.js';

/** Which runs a list is about: those that fulfil everything that is given here. */
export interface RunFilters {
  /** Any of them. */
  readonly states?: readonly RunState[];
  readonly name?: string;
  /** The model of the configuration, or the one of its harness. */
  readonly modelId?: string;
  readonly creatorUid?: string;
  readonly executorUid?: string;
  readonly source?: RunSourceType;
  readonly executionLocation?: RunExecutionLocation;
  /** An environment's uid, or {@link EMPTY_ENVIRONMENT} for runs that have none. */
  readonly environmentId?: string;
  readonly skillSpec?: string;
  readonly scheduleId?: string;
  /** A run above it, at any distance. */
  readonly ancestorRunId?: string;
  /** Each pair of each map. */
  readonly metadata?: readonly Metadata[];
  readonly artifactType?: string;
  /** Strictly later, in whole milliseconds, which is how times are shown. */
  readonly createdAfter?: Date;
  /** Strictly earlier, likewise. */
  readonly createdBefore?: Date;
  readonly updatedAfter?: Date;
  readonly search?: RunSearch;
}

/** Text to find: every term, wherever it stands, or the one run that has this id. */
export interface RunSearch {
  readonly terms: readonly SearchTerm[];
  readonly runId: string | null;
}

export const EMPTY_ENVIRONMENT = 'empty-environment';

/** Keys that a run may carry. */
export const MAX_METADATA_KEYS = 20;

export type Metadata = Readonly<Record<string, string>>;

/**
 * Labels of a new run: the request's win over the parent's, those over what the platform stamps. Null when there are
 * none; `too_many` when they are more than a run may carry.
 */
export function mergeMetadata(
  request: Metadata | null,
  parent: Metadata | null,
  automatic: Metadata | null,
): Metadata | 'too_many' | null {
  const merged = { ...automatic, ...parent, ...request };
  const count = Object.keys(merged).length;
  if (count > MAX_METADATA_KEYS) return 'too_many';
  return count === 0 ? null : merged;
}
