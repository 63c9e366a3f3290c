import { EMPTY_ENVIRONMENT, type RunFilters, type RunSearch } from '../domain/run-filters.js';
import { isFullSpec } from '../domain/run-skill.js';
import { typoPattern } from '../domain/search-terms.js';

/** Adds a value to a statement and returns its place, `$1` and so on. */
export type Bind = (value: unknown) => string;

/** Places of one statement's values, in the order in which they are asked for. */
export function bindings(): { readonly bind: Bind; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  return { bind: (value) => `$${values.push(value)}`, values };
}

/**
 * Filters that no order of `runs` serves. `conditions` hold for `r`; `probes` say the same by the tokens of
 * `run_facets`, for the owner whose place is given; `texts` are conditions on `run_facets.search`.
 */
export interface FilterSql {
  readonly conditions: readonly string[];
  readonly probes: (owner: string) => readonly string[];
  readonly texts: (column: string) => readonly string[];
  /** Place of the type that one of the run's artifacts must have. */
  readonly artifactType: string | null;
  /** Place of the id of the one run that is meant, whatever its text. */
  readonly runId: string | null;
}

interface Probed {
  readonly condition: string;
  /** Kind and value of its token. Asked when they are needed: PostgreSQL refuses values that a statement does not use. */
  readonly token: () => string;
}

export function filterSql(filters: RunFilters, bind: Bind): FilterSql {
  const probed = probedFilters(filters, bind);
  const { search } = filters;
  const texts = search ? textConditions(search, bind) : [];
  return {
    conditions: probed.map(({ condition }) => condition),
    probes: (owner) => probed.map(({ token }) => `headrace.run_token(${owner}, ${token()})`),
    texts: (column) => texts.map((text) => `${column} ${text}`),
    artifactType: filters.artifactType === undefined ? null : bind(filters.artifactType),
    runId: search?.runId ? `${bind(search.runId)}::uuid` : null,
  };
}

function probedFilters(filters: RunFilters, bind: Bind): Probed[] {
  const probed: Probed[] = [];
  const add = (kind: string, value: string | undefined, condition: (place: string) => string): void => {
    if (value === undefined) return;
    const place = `${bind(value)}::text`;
    probed.push({ condition: condition(place), token: () => `'${kind}', ${place}` });
  };
  add('name', filters.name, (place) => `r.config->>'name' = ${place}`);
  add(
    'model_id',
    filters.modelId,
    (place) => `(r.config->>'model_id' = ${place} OR r.config->'harness'->>'model_id' = ${place})`,
  );
  add('creator', filters.creatorUid, (place) => `r.creator_uid = ${place}`);
  add('executor', filters.executorUid, (place) => `r.executor_uid = ${place}`);
  add('source', filters.source, (place) => `r.source = ${place}`);
  add('execution_location', filters.executionLocation, (place) => `r.execution_location = ${place}`);
  if (filters.environmentId === EMPTY_ENVIRONMENT)
    probed.push({
      condition: 'r.environment_id IS NULL',
      token: once(() => `'environment_id', ${bind(EMPTY_ENVIRONMENT)}::text`),
    });
  else add('environment_id', filters.environmentId, (place) => `r.environment_id = ${place}`);
  add('skill_spec', filters.skillSpec, (place) =>
    isFullSpec(filters.skillSpec ?? '')
      ? `r.skill_spec = ${place}`
      : `(r.skill_spec = ${place} OR r.agent_skill->'specs' ? ${place})`,
  );
  add('schedule_id', filters.scheduleId, (place) => `r.schedule->>'schedule_id' = ${place}`);
  add('ancestor_run_id', filters.ancestorRunId, (place) => `r.ancestor_run_ids @> ARRAY[${place}::uuid]`);
  for (const [key, value] of (filters.metadata ?? []).flatMap((pairs) => Object.entries(pairs))) {
    // One value and no expression: it is compared with thousands of runs.
    probed.push({
      condition: `r.metadata @> ${bind(JSON.stringify({ [key]: value }))}::jsonb`,
      token: once(() => `'metadata ' || ${bind(key)}::text, ${bind(value)}::text`),
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
  if (runId !== null) return [`LIKE ${bind(`%${runId}%`)}`];
  return terms.map(({ word, fuzzy }) =>
    fuzzy ? `~ ${bind(typoPattern(word, '[[:alnum:]]', '[^[:alnum:]]'))}` : `LIKE ${bind(`%${word}%`)}`,
  );
}
