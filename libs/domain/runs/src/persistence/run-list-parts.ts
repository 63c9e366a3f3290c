import type { RunFilters } from '../domain/run-filters.js';
import { isFullSpec } from '../domain/run-skill.js';
import { type Bind, bindings, type FilterSql, filterSql } from './run-list-filters.js';

export const RUN_SORTS = ['updated_at', 'created_at', 'title', 'agent'] as const;
export type RunSort = (typeof RUN_SORTS)[number];
export type SortOrder = 'asc' | 'desc';

/** Sort value (as text; null: the run has none) and id of a run: a place in a list. */
export type RunPosition = readonly [value: string | null, id: string];

export interface RunListQuery {
  /** `slot_key` of each owner whose runs are listed. */
  readonly owners: readonly string[];
  readonly sort: RunSort;
  readonly order: SortOrder;
  readonly filters: RunFilters;
  /** Runs of the page, and one more that tells whether another page follows. */
  readonly limit: number;
  /** The last run seen. */
  readonly after: RunPosition | null;
}

interface SortSql {
  readonly expression: string;
  readonly type: string;
  /** Runs without a value come last in both directions. */
  readonly nullable: boolean;
  /**
   * Whether PostgreSQL, left alone, plans each page anew. It never reads an index of an expression without the table, and
   * thinks that dearer for an average owner than for one with many runs, though both have the same plan.
   */
  readonly isReplanned: boolean;
}

/** Characters of a skill spec that order it. */
const INDEXED_SKILL = 500;

/** Exactly the expressions of the indexes. */
export const SORTS: Record<RunSort, SortSql> = {
  updated_at: { expression: 'r.updated_at', type: 'timestamptz', nullable: false, isReplanned: false },
  created_at: { expression: 'r.created_at', type: 'timestamptz', nullable: false, isReplanned: false },
  title: { expression: '(lower(r.title) COLLATE "C")', type: 'text', nullable: false, isReplanned: true },
  agent: {
    expression: `(left(r.skill_spec, ${INDEXED_SKILL}) COLLATE "C")`,
    type: 'text',
    nullable: true,
    isReplanned: true,
  },
};

/** More branches cost more to plan than they save; states are then a condition like others. */
const MAX_BRANCHES = 32;

const epochMs = (place: string): string => `('epoch'::timestamptz + ${place}::bigint * interval '1 millisecond')`;

/** Everything a statement is made of. */
export interface Parts {
  readonly query: RunListQuery;
  readonly bind: Bind;
  readonly owners: readonly string[];
  /** Places of the states that make branches of their own, or `[null]`. */
  readonly states: readonly (string | null)[];
  /** Bounds of the order itself: an index stops at them. */
  readonly bounds: readonly string[];
  /** What is looked at run by run. */
  readonly rest: readonly string[];
  readonly filter: FilterSql;
}

/**
 * Whether a list has filters that its order does not serve. Such a list is searched for: first along the order, in the
 * hope that the page fills soon; else by the inverted indexes.
 */
export function isSearched(query: RunListQuery): boolean {
  const { rest, filter } = partsOf(query, bindings().bind);
  return rest.length + filter.conditions.length + filter.texts('').length > 0 || filter.artifactType !== null;
}

export function partsOf(query: RunListQuery, bind: Bind): Parts {
  const { filters, sort } = query;
  const owners = query.owners.map((owner) => `${bind(owner)}::text`);
  const rest: string[] = [];
  const bounds: string[] = [];
  const { states } = filters;
  const branched = states && sort === 'updated_at' && states.length * owners.length <= MAX_BRANCHES;
  if (states && !branched) rest.push(`r.state = ANY(${bind(states)}::text[])`);
  const boundOf = (of: RunSort): string[] => (sort === of ? bounds : rest);
  const ms = (at: Date): string => bind(at.getTime());
  // Times are shown in milliseconds: "later" than one of them is from the next one on.
  const { createdAfter, createdBefore, updatedAfter } = filters;
  if (createdAfter) boundOf('created_at').push(`r.created_at >= ${epochMs(`(${ms(createdAfter)}::bigint + 1)`)}`);
  if (createdBefore) boundOf('created_at').push(`r.created_at < ${epochMs(ms(createdBefore))}`);
  if (updatedAfter) boundOf('updated_at').push(`r.updated_at >= ${epochMs(`(${ms(updatedAfter)}::bigint + 1)`)}`);
  let probed: RunFilters = filters;
  const skillSpec = boundSkill(query);
  if (skillSpec !== null) {
    const { skillSpec: _bound, ...others } = filters;
    const place = `${bind(skillSpec)}::text`;
    bounds.push(`${SORTS.agent.expression} = left(${place}, ${INDEXED_SKILL})`);
    // Said twice, the planner would think it twice as rare.
    if (skillSpec.length >= INDEXED_SKILL) bounds.push(`r.skill_spec = ${place}`);
    probed = others;
  }
  return {
    query,
    bind,
    owners,
    states: branched ? states.map((state) => `${bind(state)}::text`) : [null],
    bounds,
    rest,
    filter: filterSql(probed, bind),
  };
}

/** The skill whose runs lie together in the order that is asked for. By a shorter spec than the full one they need not. */
export const boundSkill = ({ sort, filters: { skillSpec } }: RunListQuery): string | null =>
  sort === 'agent' && skillSpec !== undefined && isFullSpec(skillSpec) ? skillSpec : null;
