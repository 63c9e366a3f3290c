import { ArrayField, DateTimeField, EnumField, IntegerField, MapField, oneOf, StringField, text } from '#platform/http';
import { ARTIFACT_TYPES, type ArtifactType } from '../../domain/artifact.js';
import {
  EXECUTION_LOCATIONS,
  RUN_SOURCE_TYPES,
  type RunExecutionLocation,
  type RunSourceType,
} from '../../domain/run.js';
import { RUN_STATES, type RunState } from '#execution/executions';
import { MAX_SEARCH_LENGTH, SEARCHABLE } from '../../domain/search-terms.js';
import { RUN_SORTS, type RunSort, type SortOrder } from '../../persistence/run-list-parts.js';

const OPTIONAL = { optional: true } as const;
const UID = { ...OPTIONAL, blank: false, max: 256 } as const;
export const MAX_METADATA_PAIRS = 5;

/** Filters combine with AND. */
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
  @ArrayField(oneOf(RUN_STATES, 'RunState'), {
    ...OPTIONAL,
    maxItems: RUN_STATES.length,
    description: 'Repeatable; any of them.',
  })
  state?: RunState[];
  @StringField({ ...UID, description: '`agent_config.name`, exactly.' }) name?: string;
  @StringField({ ...UID, description: '`agent_config.model_id`, or the one of `agent_config.harness`.' })
  model_id?: string;
  @StringField({ ...UID, description: 'Uid of the user or service account that created the run.' }) creator?: string;
  @StringField({ ...UID, description: 'Uid of the user or agent that executed the run.' }) executor?: string;
  @EnumField(RUN_SOURCE_TYPES, { ...OPTIONAL, name: 'RunSourceType', description: 'What created the run.' })
  source?: RunSourceType;
  @EnumField(EXECUTION_LOCATIONS, {
    ...OPTIONAL,
    name: 'RunExecutionLocation',
    description: 'Where the run is executed.',
  })
  execution_location?: RunExecutionLocation;
  @DateTimeField({
    ...OPTIONAL,
    description: 'Created strictly later. Times are RFC 3339 with an offset, compared in whole milliseconds.',
  })
  created_after?: Date;
  @DateTimeField({ ...OPTIONAL, description: 'Created strictly earlier.' }) created_before?: Date;
  @DateTimeField({ ...OPTIONAL, description: 'Changed strictly later.' }) updated_after?: Date;
  @StringField({
    ...OPTIONAL,
    pattern: /^(empty-environment|[A-Za-z0-9]{22})$/,
    says: 'exactly 22 letters or digits, or `empty-environment`',
    description: '`empty-environment`: runs that have none.',
  })
  environment_id?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 1024, description: 'The same as `skill_spec`.' }) skill?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 1024,
    description:
      '`owner/repo:path/to/SKILL.md`; for runs that were created with a skill also `owner/repo:skill-name`, or the spec that was asked for.',
  })
  skill_spec?: string;
  @StringField({ ...UID, description: 'Runs that this scheduled agent has created.' }) schedule_id?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 64,
    description: 'Runs below this one, at any depth. It must exist and be accessible.',
  })
  ancestor_run_id?: string;
  @MapField(text({ maxBytes: 256 }), {
    ...OPTIONAL,
    maxEntries: MAX_METADATA_PAIRS,
    keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
    keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
    description: '`metadata[<key>]=<value>`: exact; all of the pairs.',
  })
  metadata?: Record<string, string>;
  @EnumField(ARTIFACT_TYPES, {
    ...OPTIONAL,
    name: 'ArtifactType',
    description: 'Runs that have an artifact of this type.',
  })
  artifact_type?: ArtifactType;
  @StringField({
    ...OPTIONAL,
    max: MAX_SEARCH_LENGTH,
    pattern: SEARCHABLE,
    says: 'text with at least one letter or digit',
    description:
      'Words to find in title, prompt (its first 4,096 characters) and skill_spec: all of them, in any order, also as parts of words. A word that occurs nowhere is taken for a misspelling. A whole run id finds that run. Filters only: the asked sort orders.',
  })
  q?: string;
  @StringField({ ...UID, description: 'Runs that this automation has started.' }) automation_id?: string;
  @StringField({ ...UID, description: 'Runs of this factory.' }) factory_uid?: string;
}
