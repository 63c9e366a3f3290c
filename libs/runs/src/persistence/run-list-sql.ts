import { type RunFilters } from '../domain/run-filters.js';
import { type Bind, bindings, type FilterSql, filterSql } from './run-list-filters.js';
import { LIST_PROMPT, LISTED_BYTES, LIVE_EXECUTION_JOIN, RUN_COLUMNS } from './run-rows.js';

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

export interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface SortSql {
  readonly expression: string;
  readonly type: string;
  /** Runs without a value come last in both directions. */
  readonly nullable: boolean;
}

/** Characters of a skill spec that order it. */
const INDEXED_SKILL = 500;

/** Exactly the expressions of the indexes. */
const SORTS: Record<RunSort, SortSql> = {
  updated_at: { expression: 'r.updated_at', type: 'timestamptz', nullable: false },
  created_at: { expression: 'r.created_at', type: 'timestamptz', nullable: false },
  title: { expression: '(lower(r.title) COLLATE "C")', type: 'text', nullable: false },
  agent: { expression: `(left(r.skill_spec, ${INDEXED_SKILL}) COLLATE "C")`, type: 'text', nullable: true },
};

/** A page ends before the run with which it would have more of {@link LISTED_BYTES} than this, but never before its first. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Runs that are looked at in the asked order before the inverted indexes are asked for the whole answer. */
const WINDOW = { least: 2500, perRow: 40, text: 800 };
/** More branches cost more to plan than they save; states are then a condition like others. */
const MAX_BRANCHES = 32;

const epochMs = (place: string): string => `('epoch'::timestamptz + ${place}::bigint * interval '1 millisecond')`;

/** Everything a statement is made of. */
interface Parts {
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

/**
 * The statement of one page: whole runs behind `after` with the text of their sort value, fewer than `limit` of them, and
 * with each how many there are up to `limit` (`found`). Nothing of a run that the page has no room for leaves the database.
 */
export function listStatement(query: RunListQuery): ListStatement {
  const { bind, values } = bindings();
  const parts = partsOf(query, bind);
  const ctes = isSearched(query) ? searched(parts) : ordered(parts);
  const direction = query.order === 'asc' ? 'ASC' : 'DESC';
  return {
    text: `WITH ${ctes},
sized AS MATERIALIZED (SELECT page.id, page.sort_value, count(*) OVER ()::int AS found, row_number() OVER along AS place,
    sum(${LISTED_BYTES}) OVER along AS bytes
  FROM page JOIN runs r ON r.id = page.id
  WINDOW along AS (ORDER BY page.sort_value ${direction} NULLS LAST, page.id ${direction} ROWS UNBOUNDED PRECEDING))
SELECT ${RUN_COLUMNS}, ${LIST_PROMPT}, sized.sort_value::text AS sort_text, sized.found
  FROM sized JOIN runs r ON r.id = sized.id ${LIVE_EXECUTION_JOIN}
 WHERE sized.place = 1 OR (sized.place < ${query.limit} AND sized.bytes <= ${MAX_PAGE_BYTES})
 ORDER BY sized.place`,
    values,
  };
}

function partsOf(query: RunListQuery, bind: Bind): Parts {
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
  if (sort === 'agent' && filters.skillSpec !== undefined) {
    const { skillSpec, ...others } = filters;
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

/** "Behind the last run seen" among the runs that have a sort value, or among those that have none. */
function behind({ query, bind }: Parts, section: 'valued' | 'null'): string[] {
  const { expression, type, nullable } = SORTS[query.sort];
  const isNull = `${expression} IS ${section === 'null' ? '' : 'NOT '}NULL`;
  const present = nullable && query.filters.skillSpec === undefined ? [isNull] : [];
  if (!query.after) return present;
  const [value, id] = query.after;
  const compare = query.order === 'asc' ? '>' : '<';
  if (section === 'valued')
    return [...present, `(${expression}, r.id) ${compare} (${bind(value)}::${type}, ${bind(id)}::uuid)`];
  return value === null ? [...present, `r.id ${compare} ${bind(id)}::uuid`] : present;
}

/** Lazily, in the list's order: one index scan an owner and state, merged. `check` is computed for each run met. */
function walk(parts: Parts, section: 'valued' | 'null', limit: number, check: string | null): string {
  const { query, owners, states, bounds } = parts;
  const { expression, type } = SORTS[query.sort];
  const direction = query.order.toUpperCase();
  const isValued = section === 'valued';
  const conditions = [...behind(parts, section), ...bounds];
  const branches = owners.flatMap((owner) =>
    states.map((state) => {
      const where = [`r.slot_key = ${owner}`, ...(state === null ? [] : [`r.state = ${state}`]), ...conditions];
      return `(SELECT r.id, ${isValued ? expression : `NULL::${type}`} AS sort_value${check === null ? '' : `, ${check} AS fits`}
   FROM runs r WHERE ${where.join(' AND ')}
  ORDER BY ${isValued ? `${expression} ${direction}, ` : ''}r.id ${direction} LIMIT ${limit})`;
    }),
  );
  return `SELECT * FROM (${branches.join('\nUNION ALL\n')}) u ORDER BY ${isValued ? `sort_value ${direction}, ` : ''}id ${direction} LIMIT ${limit}`;
}

const isPastValues = ({ query: { after } }: Parts): boolean => after !== null && after[0] === null;

/** A list that an index holds in its order. The runs without a value are asked for only when the others are too few. */
function ordered(parts: Parts): string {
  const { limit, sort } = parts.query;
  if (isPastValues(parts)) return `page AS MATERIALIZED (${walk(parts, 'null', limit, null)})`;
  const valued = walk(parts, 'valued', limit, null);
  if (!SORTS[sort].nullable || parts.bounds.length > 0) return `page AS MATERIALIZED (${valued})`;
  return `valued AS MATERIALIZED (${valued}),
unvalued AS MATERIALIZED (SELECT * FROM (${walk(parts, 'null', limit, null)}) w WHERE (SELECT count(*) FROM valued) < ${limit}),
page AS MATERIALIZED (SELECT * FROM valued UNION ALL (SELECT * FROM unvalued LIMIT ${limit} - (SELECT count(*) FROM valued)))`;
}

/** What a run must fulfil one by one, as one expression on `r`. Scalar subqueries: they are probed, never hashed. */
function checkOf({ rest, filter }: Parts): string {
  const texts = filter.texts('f.search');
  const text = texts.length > 0 ? [`(SELECT ${texts.join(' AND ')} FROM run_facets f WHERE f.run_id = r.id)`] : [];
  const found = filter.runId === null ? text : text.map((condition) => `(r.id = ${filter.runId} OR ${condition})`);
  const artifact =
    filter.artifactType === null
      ? []
      : [`(SELECT true FROM artifacts x WHERE x.run_id = r.id AND x.artifact_type = ${filter.artifactType} LIMIT 1)`];
  return `coalesce(${[...rest, ...filter.conditions, ...artifact, ...found].join(' AND ')}, false)`;
}

/**
 * `near`: what a bounded walk along the order finds. `whole`: the complete answer, sorted, which is computed only when
 * the walk did not fill the page. Each is right by itself; which of them is cheap depends on how frequent the matches are.
 */
function searched(parts: Parts): string {
  const { limit, order } = parts.query;
  const hasText = parts.filter.texts('').length > 0;
  const window = Math.max(hasText ? WINDOW.text : WINDOW.least, limit * WINDOW.perRow);
  const section = isPastValues(parts) ? 'null' : 'valued';
  const direction = order.toUpperCase();
  return `near AS MATERIALIZED (SELECT id, sort_value FROM (${walk(parts, section, window, checkOf(parts))}) w WHERE fits
  ORDER BY ${section === 'valued' ? `sort_value ${direction}, ` : ''}id ${direction} LIMIT ${limit}),
whole AS MATERIALIZED (SELECT id, sort_value FROM (${matches(parts)}) m
  WHERE (SELECT count(*) FROM near) < ${limit}
  ORDER BY sort_value ${direction} NULLS LAST, id ${direction} LIMIT ${limit}),
page AS MATERIALIZED (SELECT * FROM near WHERE (SELECT count(*) FROM near) = ${limit} UNION ALL SELECT * FROM whole)`;
}

/** All matches behind the last run seen, by whatever index the planner thinks best. */
function matches(parts: Parts): string {
  const { query, owners, states, bounds, rest, filter } = parts;
  const { expression, nullable } = SORTS[query.sort];
  const sections =
    isPastValues(parts) || !nullable ? [behind(parts, isPastValues(parts) ? 'null' : 'valued')] : bothSections(parts);
  const after = sections.map((conditions) => conditions.join(' AND ')).filter((conditions) => conditions !== '');
  const conditions = [
    ...bounds,
    ...rest,
    ...filter.conditions,
    ...(after.length > 0 ? [`(${after.join(' OR ')})`] : []),
  ];
  const [first] = states;
  if (first !== null && first !== undefined) conditions.push(`r.state IN (${states.join(', ')})`);
  const columns = `r.id, ${expression} AS sort_value`;
  const branches = owners.flatMap((owner) => {
    const own = [`r.slot_key = ${owner}`, ...conditions];
    if (filter.artifactType !== null)
      own.push(
        `r.id IN (SELECT x.run_id FROM artifacts x WHERE x.slot_key = ${owner} AND x.artifact_type = ${filter.artifactType})`,
      );
    const [probes, texts] = [filter.probes(owner), filter.texts('f.search')];
    const facets = [
      ...(probes.length > 0 ? [`f.tokens @> ARRAY[${probes.join(', ')}]`] : []),
      ...(texts.length > 0 ? [`f.slot_key = ${owner}`, ...texts] : []),
    ];
    if (facets.length === 0) return [`SELECT ${columns} FROM runs r WHERE ${own.join(' AND ')}`];
    const byText = `SELECT ${columns} FROM run_facets f JOIN runs r ON r.id = f.run_id WHERE ${[...facets, ...own].join(' AND ')}`;
    return filter.runId === null
      ? [byText]
      : [
          `${byText} AND r.id <> ${filter.runId}`,
          `SELECT ${columns} FROM runs r WHERE r.id = ${filter.runId} AND ${own.join(' AND ')}`,
        ];
  });
  return branches.join('\nUNION ALL\n');
}

/** The runs that have a value behind the last one, and those that have none. */
const bothSections = (parts: Parts): string[][] =>
  parts.query.after === null ? [[]] : [behind(parts, 'valued'), behind(parts, 'null')];
