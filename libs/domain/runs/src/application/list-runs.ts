import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { type CursorValue, type Issue, PageCursors, type RejectionOf } from '#platform/kernel';
import type { Run } from '../domain/run.js';
import { type RunFilters, runIdIn, type RunSearch, searchWords } from '../domain/run-filters.js';
import { isSearched, type RunListQuery, type RunPosition, type SortOrder } from '../persistence/run-list-parts.js';
import type { RunSort } from '../persistence/run-list-filters.js';
import { type FoundPage, RunLists, type SearchFailure } from '../persistence/run-lists.js';
import { ownersOf, RunsService } from './runs.service.js';

export interface ListRunsQuery {
  readonly sort: RunSort;
  readonly order: SortOrder;
  readonly filters: Omit<RunFilters, 'search'>;
  /** Text to find, with at least one letter or digit. */
  readonly text: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export type ListRunsResult =
  | { readonly kind: 'page'; readonly runs: readonly Run[]; readonly nextCursor: string | null }
  | RejectionOf<'invalid_cursor'>
  | { readonly kind: 'invalid'; readonly issue: Issue }
  | { readonly kind: SearchFailure };

interface Place {
  readonly after: RunPosition;
  /** How the first page read the words of the search: `~` for a misspelt one. */
  readonly reading: string;
}

@Injectable()
export class ListRuns {
  private readonly cursors: PageCursors;

  constructor(
    private readonly lists: RunLists,
    private readonly runs: RunsService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('run', settings);
  }

  async execute(caller: Caller, asked: ListRunsQuery): Promise<ListRunsResult> {
    const { sort, order, limit, text } = asked;
    const owners = ownersOf(caller);
    const filters = withSets(asked.filters);
    const identity = { owners, sort, order, filters, text };
    const place = asked.cursor === null ? null : placeOf(this.cursors.decode(asked.cursor, identity));
    if (asked.cursor !== null && place === null) return { kind: 'invalid_cursor' };
    const { ancestorRunId } = filters;
    if (ancestorRunId !== undefined && (await this.runs.find(caller, ancestorRunId)).kind !== 'found')
      return { kind: 'invalid', issue: UNKNOWN_ANCESTOR };
    const search = text === null ? null : searchOf(text, place);
    const query: RunListQuery = {
      owners,
      sort,
      order,
      filters: search ? { ...filters, search } : filters,
      limit: limit + 1,
      after: place?.after ?? null,
    };
    const found = await this.find(query, search !== null && place === null);
    if (typeof found === 'string') return { kind: found };
    const last = found.runs.at(-1);
    const reading = found.terms.map(({ fuzzy }) => (fuzzy ? '~' : '=')).join('');
    return {
      kind: 'page',
      runs: found.runs.map(({ run }) => run),
      nextCursor:
        found.hasMore && last ? this.cursors.encode(positionOf({ after: last.position, reading }), identity) : null,
    };
  }

  private async find(query: RunListQuery, resolve: boolean): Promise<FoundPage | SearchFailure> {
    if (query.owners.length === 0) return { runs: [], hasMore: false, terms: [] };
    if (!isSearched(query)) return this.lists.ordered(query);
    return this.lists.limited(() => this.lists.searched(query, resolve));
  }
}

const UNKNOWN_ANCESTOR: Issue = {
  pointer: '/ancestor_run_id',
  detail: 'must be a run that exists and that you may see',
};

/** Values that are alternatives have one order, so that their order in the address does not change a cursor. */
function withSets(filters: Omit<RunFilters, 'search'>): Omit<RunFilters, 'search'> {
  const { states, sources, factoryUids, taskStatuses } = filters;
  const set = <T extends string>(values: readonly T[]): T[] => [...new Set(values)].sort();
  return {
    ...filters,
    ...(states && { states: set(states) }),
    ...(sources && { sources: set(sources) }),
    ...(factoryUids && { factoryUids: set(factoryUids) }),
    ...(taskStatuses && { taskStatuses: set(taskStatuses) }),
  };
}

function searchOf(text: string, place: Place | null): RunSearch {
  const runId = runIdIn(text);
  if (runId !== null) return { terms: [], runId };
  return {
    terms: searchWords(text).map((word, index) => ({ word, fuzzy: place?.reading[index] === '~' })),
    runId: null,
  };
}

/** Values of any text, kept short: JSON would write some characters with six. */
const positionOf = ({ after: [value, id], reading }: Place): CursorValue[] => [
  value === null ? null : Buffer.from(value).toString('base64url'),
  id,
  reading,
];

function placeOf(decoded: readonly CursorValue[] | null): Place | null {
  if (!decoded) return null;
  const [value, id, reading] = decoded;
  return {
    after: [
      value === null || value === undefined ? null : Buffer.from(String(value), 'base64url').toString(),
      String(id),
    ],
    reading: String(reading ?? ''),
  };
}
