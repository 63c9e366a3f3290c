import { boundSkill, type Parts, SORTS } from './run-list-parts.js';

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

export const isPastValues = ({ query: { after } }: Parts): boolean => after !== null && after[0] === null;

/** The runs that have a value behind the last one, and those that have none. */
export const bothSections = (parts: Parts): string[][] =>
  parts.query.after === null ? [[]] : [behind(parts, 'valued'), behind(parts, 'null')];

/** What a run must fulfil one by one, as one expression on `r`. Scalar subqueries: they are probed, never hashed. */
export function checkOf({ rest, filter }: Parts): string {
  const texts = filter.texts('f.search');
  const text = texts.length > 0 ? [`(SELECT ${texts.join(' AND ')} FROM run_facets f WHERE f.run_id = r.id)`] : [];
  const found = filter.runId === null ? text : text.map((condition) => `(r.id = ${filter.runId} OR ${condition})`);
  const artifact =
    filter.artifactType === null
      ? []
      : [`(SELECT true FROM artifacts x WHERE x.run_id = r.id AND x.artifact_type = ${filter.artifactType} LIMIT 1)`];
  return `coalesce(${[...rest, ...filter.conditions, ...artifact, ...found].join(' AND ')}, false)`;
}
