import { EnumField, IntegerField, StringField } from '#platform/http';
import type { Metadata, RunFilters } from '../../domain/run-filters.js';
import { LIST_FILTERS, RUN_SORTS, type RunSort } from '../../persistence/run-list-filters.js';
import type { SortOrder } from '../../persistence/run-list-parts.js';

const OPTIONAL = { optional: true } as const;

/** Sort and page of a list; the filters are those of {@link LIST_FILTERS}. */
export class ListRunsParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 500, default: 20, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 4096,
    description: '`next_cursor` of the page before; it belongs to that sort and those filters.',
  })
  cursor?: string;
  @EnumField(RUN_SORTS, {
    ...OPTIONAL,
    default: 'updated_at',
    description: '`agent` is alphabetical by skill, runs without a skill last; titles sort without regard to case.',
  })
  sort_by?: RunSort;
  @EnumField(['asc', 'desc'], { ...OPTIONAL, default: 'desc', description: 'Direction of the sort.' })
  sort_order?: SortOrder;
  q?: string;
  skill?: string;
  skill_spec?: string;
  metadata?: Metadata;
  [filter: string]: unknown;
}

for (const { parameter, field } of LIST_FILTERS) field(ListRunsParameters.prototype, parameter);

/** The filters of a request. Their order is the one of cursors, whatever the order in the address: times come last. */
export function filtersOf(query: ListRunsParameters): Omit<RunFilters, 'search'> {
  const given: ListRunsParameters = { ...query, skill_spec: query.skill_spec ?? query.skill };
  const pairs = metadataOf(query);
  const entries = LIST_FILTERS.flatMap(({ parameter, filter, sql }): [string, unknown, number][] => {
    const value = sql.by === 'metadata' ? (pairs.length > 0 ? pairs : undefined) : given[parameter];
    if (filter === null || value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [[filter, normalized(filter, value), sql.by === 'time' ? 1 : 0]];
  });
  return Object.fromEntries(entries.sort(([, , a], [, , b]) => a - b)) as Omit<RunFilters, 'search'>;
}

/** UUIDs are compared in lower case. */
const normalized = (filter: string, value: unknown): unknown =>
  filter === 'ancestorRunId' && typeof value === 'string' ? value.toLowerCase() : value;

/** The parameter `metadata`, sorted by its keys, then each parameter that stands for one key. */
function metadataOf({ metadata, ...query }: ListRunsParameters): Metadata[] {
  const named = LIST_FILTERS.flatMap(({ parameter, sql }): Metadata[] => {
    const value = query[parameter];
    return sql.by === 'metadata' && sql.key !== undefined && typeof value === 'string' ? [{ [sql.key]: value }] : [];
  });
  if (metadata === undefined) return named;
  return [Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))), ...named];
}
