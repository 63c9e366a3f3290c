import {
  behind,
  bindings,
  checkOf,
  type Parts,
  partsOf,
  type RunListQuery,
  sectionOf,
  SORTS,
  walk,
} from './run-list-parts.js';
import { LIST_PROMPT, LISTED_BYTES, LIVE_EXECUTION_JOIN, RUN_COLUMNS } from './runs.store.js';

export interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A page ends before the run with which it would have more of {@link LISTED_BYTES} than this, but never before its first. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Runs that are looked at in the asked order before the inverted indexes are asked for the whole answer. */
const WINDOW = { least: 5000, perRow: 40, text: 800 };

/**
 * A walk reads one index along its order and looks up the rest row by row, for values of any frequency and owners of any
 * size. So it is planned once, and without these the planner would plan for an average owner, who has few runs to sort.
 */
export const WALK_SETTINGS: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  // Older planners write what is switched off as a huge cost, for which the executor would begin to compile.
  jit: 'off',
};

const isShown = ({ limit }: RunListQuery): string =>
  `(sized.place = 1 OR (sized.place < ${limit} AND sized.bytes <= ${MAX_PAGE_BYTES}))`;

/**
 * The page of a list that an index holds in its order: whole runs behind `after` with the text of their sort value, fewer
 * than `limit` of them, and with each how many there are up to `limit` (`found`). Nothing of a run that exceeds the page
 * leaves the database.
 */
export const orderedStatement = (query: RunListQuery): ListStatement =>
  composed(query, (parts) => pageText(query, ordered(parts)));

/** {@link orderedStatement} cut from the complete answer: what a rare value needs. Its plan depends on how rare. */
export const fullStatement = (query: RunListQuery): ListStatement =>
  composed(query, (parts) => pageText(query, whole(parts)));

const pageText = (query: RunListQuery, page: string): string =>
  `WITH page AS MATERIALIZED (${page}),
${sized(query)}
SELECT ${LISTED}
  FROM sized JOIN runs r ON r.id = sized.id ${LIVE_EXECUTION_JOIN}
 WHERE ${isShown(query)}
 ORDER BY sized.place`;

/**
 * The page as a bounded walk along the order finds it. The first row tells whether that is the answer (`complete`): when
 * the page is full, or no more runs are there. A page without runs is one row without a run. Whether this plan is right
 * does not depend on the values, and {@link WALK_SETTINGS} leave no other.
 */
export const probeStatement = (query: RunListQuery): ListStatement =>
  composed(
    query,
    (parts) => `WITH page AS MATERIALIZED (${near(parts)}),
judged AS MATERIALIZED (SELECT (SELECT count(*) FROM page) = ${query.limit}${orIsWalkedOff(parts)} AS complete),
${sized(query)}
SELECT ${LISTED}, judged.complete
  FROM judged LEFT JOIN sized ON judged.complete AND ${isShown(query)}
  LEFT JOIN runs r ON r.id = sized.id ${LIVE_EXECUTION_JOIN}
 ORDER BY sized.place`,
  );

function composed(query: RunListQuery, text: (parts: Parts) => string): ListStatement {
  const { bind, values } = bindings();
  return { text: text(partsOf(query, bind)), values };
}

const LISTED = `${RUN_COLUMNS}, ${LIST_PROMPT}, sized.sort_value::text AS sort_text, sized.found`;

function sized({ order }: RunListQuery): string {
  const direction = order.toUpperCase();
  return `sized AS MATERIALIZED (SELECT page.id, page.sort_value, count(*) OVER ()::int AS found, row_number() OVER along AS place,
    sum(${LISTED_BYTES}) OVER along AS bytes
  FROM page JOIN runs r ON r.id = page.id
  WINDOW along AS (ORDER BY page.sort_value ${direction} NULLS LAST, page.id ${direction} ROWS UNBOUNDED PRECEDING))`;
}

/** A list that an index holds in its order. The runs without a value are asked for only when the others are too few. */
function ordered(parts: Parts): string {
  const { limit, sort } = parts.query;
  if (sectionOf(parts) === 'null') return walk(parts, 'null', limit, null);
  const valued = walk(parts, 'valued', limit, null);
  if (!SORTS[sort].nullable || parts.bounds.length > 0) return valued;
  return `WITH valued AS MATERIALIZED (${valued}),
  unvalued AS MATERIALIZED (SELECT * FROM (${walk(parts, 'null', limit, null)}) w WHERE (SELECT count(*) FROM valued) < ${limit})
  SELECT * FROM valued UNION ALL (SELECT * FROM unvalued LIMIT ${limit} - (SELECT count(*) FROM valued))`;
}

function near(parts: Parts): string {
  const { limit, order } = parts.query;
  const section = sectionOf(parts);
  const direction = order.toUpperCase();
  return `SELECT id, sort_value FROM (${walk(parts, section, windowOf(parts), checkOf(parts))}) w WHERE fits
  ORDER BY sort_value ${direction}, id ${direction} LIMIT ${limit}`;
}

/** Whether the walk has met all runs that there are: then those that it has found are all. */
function orIsWalkedOff(parts: Parts): string {
  const section = sectionOf(parts);
  const isAll = section === 'null' || !SORTS[parts.query.sort].nullable || parts.bounds.length > 0;
  const window = windowOf(parts);
  return isAll ? ` OR NOT EXISTS (SELECT FROM (${walk(parts, section, window, null)}) w OFFSET ${window - 1})` : '';
}

const windowOf = ({ filter, query }: Parts): number =>
  Math.max(filter.texts.length > 0 ? WINDOW.text : WINDOW.least, query.limit * WINDOW.perRow);

function whole(parts: Parts): string {
  const { limit, order } = parts.query;
  const direction = order.toUpperCase();
  return `SELECT id, sort_value FROM (${matches(parts)}) m
  ORDER BY sort_value ${direction} NULLS LAST, id ${direction} LIMIT ${limit}`;
}

/** All matches behind the last run seen, by whatever index the planner thinks best. */
function matches(parts: Parts): string {
  const { query, owners, states, bounds, rest, filter } = parts;
  const { expression, nullable } = SORTS[query.sort];
  const section = sectionOf(parts);
  const sections = section === 'valued' && nullable ? (['valued', 'null'] as const) : [section];
  // The first page of all runs, with a value or without, has no condition.
  const after =
    sections.length > 1 && query.after === null
      ? []
      : sections.map((one) => behind(parts, one).join(' AND ')).filter((conditions) => conditions !== '');
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
    const facets = [
      ...filter.probes(owner),
      ...(filter.texts.length > 0 ? [`f.slot_key = ${owner}`, ...filter.texts] : []),
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
