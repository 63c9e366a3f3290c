import { RUN_STATES } from '#execution/executions';
import { ArrayField, BooleanField, DateTimeField, EnumField, MapField, oneOf, StringField, text } from '#platform/http';
import { ARTIFACT_TYPES } from '../domain/artifact.js';
import { EXECUTION_LOCATIONS, RUN_SOURCE_TYPES } from '../domain/run.js';
import {
  EMPTY_ENVIRONMENT,
  MAX_SEARCH_LENGTH,
  type RunFilters,
  SEARCHABLE,
  TASK_STATUSES,
} from '../domain/run-filters.js';
import { isFullSpec } from '../domain/run-skill.js';

export const RUN_SORTS = ['updated_at', 'created_at', 'title', 'agent'] as const;
export type RunSort = (typeof RUN_SORTS)[number];

type Name = Exclude<keyof RunFilters, 'search'>;

/** How a filter becomes SQL on run `r`; `place` is where the statement has the value, such as `$3::text`. */
export type FilterSql =
  /**
   * A condition that is also a token of `run_facets`, which an inverted index finds. The kind of the token is the name
   * of the parameter, as `headrace.run_tokens` writes it.
   */
  | {
      readonly by: 'token';
      readonly where: (place: string, value: string) => string;
      /** The value that asks for runs without any, and its condition. */
      readonly none?: { readonly value: string; readonly where: string };
    }
  /** Like `token`, for a list of values of which the run has one. `place` has an array of text. */
  | { readonly by: 'any-token'; readonly kind: string; readonly where: (place: string) => string }
  /** A condition that the value `true` adds, which is also a token with that value. */
  | { readonly by: 'flag'; readonly where: string }
  /** A limit of a time, where a list in the order of that time stops. Times are shown, and compared, in milliseconds. */
  | { readonly by: 'time'; readonly sort: RunSort; readonly where: (place: string) => string }
  /** Pairs of metadata: the parameter itself, or one key of it under a separate name. */
  | { readonly by: 'metadata'; readonly key?: string }
  /** A statement is composed for it: see `run-list-parts.ts`. */
  | { readonly by: 'statement' };

export interface ListFilter {
  /** Query parameter of `GET /agent/runs`. */
  readonly parameter: string;
  /** Property of {@link RunFilters}; null: it is another name for a filter, or is read together with others. */
  readonly filter: Name | null;
  readonly field: PropertyDecorator;
  readonly sql: FilterSql;
}

const OPTIONAL = { optional: true } as const;
const UID = { ...OPTIONAL, blank: false, max: 256 } as const;
const SKILL = { ...OPTIONAL, blank: false, max: 1024 } as const;
const RUN_ID = {
  ...OPTIONAL,
  pattern: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  says: 'the id of a run',
} as const;
const MAX_METADATA_PAIRS = 5;
const MAX_FACTORIES = 100;

const STATEMENT = { by: 'statement' } as const;
const token = (where: (place: string, value: string) => string): FilterSql => ({ by: 'token', where });
const epochMs = (place: string): string => `('epoch'::timestamptz + ${place}::bigint * interval '1 millisecond')`;
/** Times are shown in milliseconds: "later" than one of them is from the next one on. */
const later = (column: string) => (place: string) => `r.${column} >= ${epochMs(`(${place}::bigint + 1)`)}`;

/**
 * The filters of `GET /agent/runs`, in the order of the document; they combine with AND. A new filter is an entry here and a
 * property of `RunFilters`; where the order of a list does not serve it, also a kind of token in `headrace.run_tokens`.
 */
export const LIST_FILTERS: readonly ListFilter[] = [
  {
    parameter: 'state',
    filter: 'states',
    field: ArrayField(oneOf(RUN_STATES, 'RunState'), {
      ...OPTIONAL,
      maxItems: RUN_STATES.length,
      description: 'Repeatable; any of them.',
    }),
    sql: STATEMENT,
  },
  {
    parameter: 'name',
    filter: 'name',
    field: StringField({ ...UID, description: '`agent_config.name`, exactly.' }),
    sql: token((place) => `r.config->>'name' = ${place}`),
  },
  {
    parameter: 'model_id',
    filter: 'modelId',
    field: StringField({ ...UID, description: '`agent_config.model_id`, or the one of `agent_config.harness`.' }),
    sql: token((place) => `(r.config->>'model_id' = ${place} OR r.config->'harness'->>'model_id' = ${place})`),
  },
  {
    parameter: 'creator',
    filter: 'creatorUid',
    field: StringField({ ...UID, description: 'Uid of the user or service account that created the run.' }),
    sql: token((place) => `r.creator_uid = ${place}`),
  },
  {
    parameter: 'executor',
    filter: 'executorUid',
    field: StringField({ ...UID, description: 'Uid of the user or agent that executed the run.' }),
    sql: token((place) => `r.executor_uid = ${place}`),
  },
  {
    parameter: 'source',
    filter: 'sources',
    field: ArrayField(oneOf(RUN_SOURCE_TYPES, 'RunSourceType'), {
      ...OPTIONAL,
      maxItems: RUN_SOURCE_TYPES.length,
      description: 'What created the run. Repeatable; any of them.',
    }),
    sql: { by: 'any-token', kind: 'source', where: (place) => `r.source = ANY(${place})` },
  },
  {
    parameter: 'execution_location',
    filter: 'executionLocation',
    field: EnumField(EXECUTION_LOCATIONS, {
      ...OPTIONAL,
      name: 'RunExecutionLocation',
      description: 'Where the run is executed.',
    }),
    sql: token((place) => `r.execution_location = ${place}`),
  },
  {
    parameter: 'worker_host',
    filter: 'workerHost',
    field: StringField({ ...UID, description: '`agent_config.worker_host`, exactly.' }),
    sql: token((place) => `r.config->>'worker_host' = ${place}`),
  },
  {
    parameter: 'created_after',
    filter: 'createdAfter',
    field: DateTimeField({
      ...OPTIONAL,
      description: 'Created strictly later. Times are RFC 3339 with an offset, compared in whole milliseconds.',
    }),
    sql: { by: 'time', sort: 'created_at', where: later('created_at') },
  },
  {
    parameter: 'created_before',
    filter: 'createdBefore',
    field: DateTimeField({ ...OPTIONAL, description: 'Created strictly earlier.' }),
    sql: { by: 'time', sort: 'created_at', where: (place) => `r.created_at < ${epochMs(place)}` },
  },
  {
    parameter: 'updated_after',
    filter: 'updatedAfter',
    field: DateTimeField({ ...OPTIONAL, description: 'Changed strictly later.' }),
    sql: { by: 'time', sort: 'updated_at', where: later('updated_at') },
  },
  {
    parameter: 'environment_id',
    filter: 'environmentId',
    field: StringField({
      ...OPTIONAL,
      pattern: /^(empty-environment|[A-Za-z0-9]{22})$/,
      says: 'exactly 22 letters or digits, or `empty-environment`',
      description: '`empty-environment`: runs that have none.',
    }),
    sql: {
      by: 'token',
      where: (place) => `r.environment_id = ${place}`,
      none: { value: EMPTY_ENVIRONMENT, where: 'r.environment_id IS NULL' },
    },
  },
  {
    parameter: 'skill',
    filter: null,
    field: StringField({ ...SKILL, description: 'The same as `skill_spec`.' }),
    sql: STATEMENT,
  },
  {
    parameter: 'skill_spec',
    filter: 'skillSpec',
    field: StringField({
      ...SKILL,
      description:
        '`owner/repo:path/to/SKILL.md`; for runs that were created with a skill also `owner/repo:skill-name`, or the spec that was asked for.',
    }),
    sql: token((place, spec) =>
      isFullSpec(spec) ? `r.skill_spec = ${place}` : `(r.skill_spec = ${place} OR r.agent_skill->'specs' ? ${place})`,
    ),
  },
  {
    parameter: 'schedule_id',
    filter: 'scheduleId',
    field: StringField({ ...UID, description: 'Runs that this scheduled agent has created.' }),
    sql: token((place) => `r.schedule->>'schedule_id' = ${place}`),
  },
  {
    parameter: 'ancestor_run_id',
    filter: 'ancestorRunId',
    field: StringField({
      ...OPTIONAL,
      blank: false,
      max: 64,
      description: 'Runs below this one, at any depth. It must exist and be accessible.',
    }),
    sql: token((place) => `r.ancestor_run_ids @> ARRAY[${place}::uuid]`),
  },
  {
    parameter: 'rerun_of',
    filter: 'rerunOf',
    field: StringField({
      ...RUN_ID,
      description: 'Runs that were created as a rerun of this one.',
    }),
    sql: token((place) => `r.rerun_of = ${place}::uuid`),
  },
  {
    parameter: 'forked_from',
    filter: 'forkedFrom',
    field: StringField({
      ...RUN_ID,
      description: 'Runs that were forked from this one.',
    }),
    sql: token((place) => `r.forked_from_run_id = ${place}::uuid`),
  },
  {
    parameter: 'metadata',
    filter: 'metadata',
    field: MapField(text({ maxBytes: 256 }), {
      ...OPTIONAL,
      maxEntries: MAX_METADATA_PAIRS,
      keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
      keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
      description: '`metadata[<key>]=<value>`: exact; all of the pairs.',
    }),
    sql: { by: 'metadata' },
  },
  {
    parameter: 'artifact_type',
    filter: 'artifactType',
    field: EnumField(ARTIFACT_TYPES, {
      ...OPTIONAL,
      name: 'ArtifactType',
      description: 'Runs that have an artifact of this type.',
    }),
    sql: STATEMENT,
  },
  {
    parameter: 'q',
    filter: null,
    field: StringField({
      ...OPTIONAL,
      max: MAX_SEARCH_LENGTH,
      pattern: SEARCHABLE,
      says: 'text with at least one letter or digit',
      description:
        'Words to find in title, prompt (its first 4,096 characters) and skill_spec: all of them, in any order, also as parts of words. A word that occurs nowhere is taken for a misspelling. A whole run id, or the address of a run, finds that run. Filters only: the asked sort orders.',
    }),
    sql: STATEMENT,
  },
  {
    parameter: 'automation_id',
    filter: null,
    field: StringField({ ...UID, description: 'Runs that this automation has started.' }),
    sql: { by: 'metadata', key: 'automation_id' },
  },
  {
    parameter: 'factory_uid',
    filter: 'factoryUids',
    field: ArrayField(text({ blank: false, max: 256 }), {
      ...OPTIONAL,
      maxItems: MAX_FACTORIES,
      description: 'Runs of this factory. Repeatable; any of them.',
    }),
    sql: {
      by: 'any-token',
      kind: 'metadata factory_uid',
      where: (place) => `r.metadata->>'factory_uid' = ANY(${place})`,
    },
  },
  {
    parameter: 'factory_only',
    filter: 'factoryOnly',
    field: BooleanField({ ...OPTIONAL, description: '`true`: only runs of a factory, whichever it is.' }),
    sql: { by: 'flag', where: `r.metadata ? 'factory_uid'` },
  },
  {
    parameter: 'task_status',
    filter: 'taskStatuses',
    field: ArrayField(oneOf(TASK_STATUSES, 'TaskStatus'), {
      ...OPTIONAL,
      maxItems: TASK_STATUSES.length,
      description:
        'Repeatable; any of them. `running`: the run or a run below it is QUEUED, PENDING, CLAIMED or INPROGRESS. The others only regard the state of the run: `failed` is FAILED or ERROR, `blocked` is BLOCKED, `cancelled` is CANCELLED, `complete` is SUCCEEDED.',
    }),
    sql: STATEMENT,
  },
];
