import {
  type RunFilters,
  type RunSearch,
  STATES_OF_STATUS,
  type TaskStatus,
  typoPattern,
} from '../domain/run-filters.js';
import { isFullSpec } from '../domain/run-skill.js';
import { LIST_FILTERS, type RunSort } from './run-list-filters.js';

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
  readonly after: RunPosition | null;
}

interface SortSql {
  readonly expression: string;
  readonly type: string;
  /** Runs without a value come last in both directions. */
  readonly nullable: boolean;
  /**
   * Whether PostgreSQL, left alone, plans each page again. It never reads an index of an expression without the table, and
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

/** Adds a value to a statement and returns its place, `$1` and so on. */
type Bind = (value: unknown) => string;

/** Places of one statement's values, in the order in which they are asked for. */
export function bindings(): { readonly bind: Bind; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  return { bind: (value) => `$${values.push(value)}`, values };
}

/**
 * Filters that no order of `runs` serves. `conditions` hold for `r`; `probes` say the same by the tokens of `f`, its row of
 * `run_facets`, for the owner whose place is given; `texts` are conditions on the text of `f`.
 */
export interface FilterConditions {
  readonly conditions: readonly string[];
  readonly probes: (owner: string) => readonly string[];
  readonly texts: readonly string[];
  /** Place of the type that one of the run's artifacts must have. */
  readonly artifactType: string | null;
  /** Place of the id of the one run that is meant, whatever its text. */
  readonly runId: string | null;
}

interface Probed {
  readonly condition: string;
  /**
   * Kinds and values of its tokens, of which the run has one. Asked when they are needed: PostgreSQL refuses values that a
   * statement does not use.
   */
  readonly tokens: readonly (() => string)[];
}

function filterConditions(filters: RunFilters, bind: Bind): FilterConditions {
  const probed = probedFilters(filters, bind);
  const { search } = filters;
  return {
    conditions: probed.map(({ condition }) => condition),
    probes: (owner) => probesOf(probed, owner),
    texts: search ? textConditions(search, bind) : [],
    artifactType: filters.artifactType === undefined ? null : bind(filters.artifactType),
    runId: search?.runId ? `${bind(search.runId)}::uuid` : null,
  };
}

/** All tokens that each match needs in one operator, and one operator for each filter with alternatives. */
function probesOf(probed: readonly Probed[], owner: string): string[] {
  const arrays = probed.map(({ tokens }) => tokens.map((token) => `headrace.run_token(${owner}, ${token()})`));
  const [single, several] = [arrays.filter(({ length }) => length === 1), arrays.filter(({ length }) => length > 1)];
  return [
    ...(single.length > 0 ? [`f.tokens @> ARRAY[${single.flat().join(', ')}]`] : []),
    ...several.map((tokens) => `f.tokens && ARRAY[${tokens.join(', ')}]`),
  ];
}

function probedFilters(filters: RunFilters, bind: Bind): Probed[] {
  const probed = LIST_FILTERS.flatMap(({ parameter, filter, sql }): Probed[] => {
    const value = filter === null ? undefined : filters[filter];
    if (sql.by === 'flag')
      return value === true ? [{ condition: sql.where, tokens: [() => `'${parameter}', 'true'`] }] : [];
    if (sql.by === 'any-token' && Array.isArray(value)) {
      const tokens = value.map((one: string) => once(() => `'${sql.kind}', ${bind(one)}::text`));
      return [{ condition: sql.where(`${bind(value)}::text[]`), tokens }];
    }
    if (sql.by !== 'token' || typeof value !== 'string') return [];
    if (value === sql.none?.value)
      return [{ condition: sql.none.where, tokens: [once(() => `'${parameter}', ${bind(value)}::text`)] }];
    const place = `${bind(value)}::text`;
    return [{ condition: sql.where(place, value), tokens: [() => `'${parameter}', ${place}`] }];
  });
  for (const [key, value] of (filters.metadata ?? []).flatMap((pairs) => Object.entries(pairs))) {
    // One value and no expression: it is compared with thousands of runs.
    probed.push({
      condition: `r.metadata @> ${bind(JSON.stringify({ [key]: value }))}::jsonb`,
      tokens: [once(() => `'metadata ' || ${bind(key)}::text, ${bind(value)}::text`)],
    });
  }
  return probed;
}

function once(make: () => string): () => string {
  let made: string | null = null;
  return () => (made ??= make());
}

/** Words hold letters, marks and digits only, so there is nothing to escape in them. */
function textConditions({ terms, runId }: RunSearch, bind: Bind): string[] {
  const contains = (text: string): string => `f.search LIKE ${bind(`%${text}%`)}`;
  if (runId !== null) return [contains(runId)];
  return terms.flatMap(({ word, fuzzy, candidates }) => {
    if (!fuzzy) return [contains(word)];
    const pattern = bind(typoPattern(word, '[[:alnum:]]', '[^[:alnum:]]'));
    if (!candidates) return [`f.search ~ ${pattern}`];
    const { runIds, words, after } = candidates;
    const places = [
      `f.run_id = ANY(${bind(runIds)}::uuid[])`,
      `f.run_id > ${bind(after)}::uuid`,
      ...words.map(contains),
    ];
    // An expression, so that no index is read for the pattern: in large teams that finds far more runs than the candidates.
    return [`(${places.join(' OR ')})`, `(f.search || '') ~ ${pattern}`];
  });
}

export interface Parts {
  readonly query: RunListQuery;
  readonly bind: Bind;
  readonly owners: readonly string[];
  /** Places of the states that make separate branches, or `[null]`. */
  readonly states: readonly (string | null)[];
  /** Bounds of the order itself: an index stops at them. */
  readonly bounds: readonly string[];
  /** What is looked at run by run. */
  readonly rest: readonly string[];
  readonly filter: FilterConditions;
}

/**
 * Whether a list has filters that its order does not serve. Such a list is searched for: first along the order, in the
 * hope that the page fills soon; else by the inverted indexes.
 */
export function isSearched(query: RunListQuery): boolean {
  const { rest, filter } = partsOf(query, bindings().bind);
  return rest.length + filter.conditions.length + filter.texts.length > 0 || filter.artifactType !== null;
}

export function partsOf(query: RunListQuery, bind: Bind): Parts {
  const { filters, sort } = query;
  const owners = query.owners.map((owner) => `${bind(owner)}::text`);
  const rest: string[] = [];
  const bounds: string[] = [];
  const { states } = filters;
  const branched = states && sort === 'updated_at' && states.length * owners.length <= MAX_BRANCHES;
  if (states && !branched) rest.push(`r.state = ANY(${bind(states)}::text[])`);
  if (filters.taskStatuses) rest.push(taskCondition(filters.taskStatuses, owners, bind));
  const boundOf = (of: RunSort): string[] => (sort === of ? bounds : rest);
  for (const { filter, sql } of LIST_FILTERS) {
    const value = filter === null ? undefined : filters[filter];
    if (sql.by === 'time' && value instanceof Date) boundOf(sql.sort).push(sql.where(bind(value.getTime())));
  }
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
    filter: filterConditions(probed, bind),
  };
}

/** The runs above active ones are found from these: an owner has few of them, and an index has them by state. */
function taskCondition(statuses: readonly TaskStatus[], owners: readonly string[], bind: Bind): string {
  const state = `r.state = ANY(${bind(statuses.flatMap((status) => STATES_OF_STATUS[status]))}::text[])`;
  if (!statuses.includes('running')) return state;
  return `(${state} OR r.id IN (SELECT unnest(active.ancestor_run_ids) FROM runs active
    WHERE active.slot_key IN (${owners.join(', ')}) AND active.state = ANY(${bind(STATES_OF_STATUS.running)}::text[])))`;
}

/** The skill whose runs lie together in the order that is asked for. By a shorter spec than the full one they need not. */
export const boundSkill = ({ sort, filters: { skillSpec } }: RunListQuery): string | null =>
  sort === 'agent' && skillSpec !== undefined && isFullSpec(skillSpec) ? skillSpec : null;

/** "Behind the last run seen" among the runs that have a sort value, or among those that have none. */
export function behind({ query, bind }: Parts, section: 'valued' | 'null'): string[] {
  const { expression, type, nullable } = SORTS[query.sort];
  const isNull = `${expression} IS ${section === 'null' ? '' : 'NOT '}NULL`;
  const present = nullable && boundSkill(query) === null ? [isNull] : [];
  if (!query.after) return present;
  const [value, id] = query.after;
  const compare = query.order === 'asc' ? '>' : '<';
  if (section === 'valued')
    return [...present, `(${expression}, r.id) ${compare} (${bind(value)}::${type}, ${bind(id)}::uuid)`];
  return value === null ? [...present, `r.id ${compare} ${bind(id)}::uuid`] : present;
}

/** Lazily, in the list's order: one index scan an owner and state, merged. `check` is computed for each run met. */
export function walk(parts: Parts, section: 'valued' | 'null', limit: number, check: string | null): string {
  const { query, owners, states, bounds } = parts;
  const { expression } = SORTS[query.sort];
  const direction = query.order.toUpperCase();
  const conditions = [...behind(parts, section), ...bounds];
  const branches = owners.flatMap((owner) =>
    states.map((state) => {
      const where = [`r.slot_key = ${owner}`, ...(state === null ? [] : [`r.state = ${state}`]), ...conditions];
      return `(SELECT r.id, ${expression} AS sort_value${check === null ? '' : `, ${check} AS fits`}
   FROM runs r WHERE ${where.join(' AND ')}
  ORDER BY ${expression} ${direction}, r.id ${direction} LIMIT ${limit})`;
    }),
  );
  return `SELECT * FROM (${branches.join('\nUNION ALL\n')}) u ORDER BY sort_value ${direction}, id ${direction} LIMIT ${limit}`;
}

/** After the last run that has a value come those that have none. */
export const sectionOf = ({ query: { after } }: Parts): 'null' | 'valued' =>
  after !== null && after[0] === null ? 'null' : 'valued';

/** What a run must fulfil one by one, as one expression on `r`. Scalar subqueries: they are probed, never hashed. */
export function checkOf({ rest, filter }: Parts): string {
  const text =
    filter.texts.length > 0 ? [`(SELECT ${filter.texts.join(' AND ')} FROM run_facets f WHERE f.run_id = r.id)`] : [];
  const found = filter.runId === null ? text : text.map((condition) => `(r.id = ${filter.runId} OR ${condition})`);
  const artifact =
    filter.artifactType === null
      ? []
      : [`(SELECT true FROM artifacts x WHERE x.run_id = r.id AND x.artifact_type = ${filter.artifactType} LIMIT 1)`];
  return `coalesce(${[...rest, ...filter.conditions, ...artifact, ...found].join(' AND ')}, false)`;
}
