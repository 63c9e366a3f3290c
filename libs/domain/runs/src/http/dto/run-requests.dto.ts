import {
  APPROVAL_DECISIONS,
  APPROVAL_STATES,
  type ApprovalDecisionWord,
  type ApprovalState,
} from '#execution/executions';
import {
  ArrayField,
  BooleanField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  object,
  ObjectField,
  optionalBody,
  StringField,
  text,
} from '#platform/http';
import { DEFAULT_DELAY_SECONDS, MAX_DELAY_SECONDS, MAX_DELAYS } from '../../application/concurrent-runs.js';
import { REQUEST_POLICIES } from '../../application/create-keyed-run.js';
import {
  EXECUTION_LOCATIONS,
  MAX_ANSWER_LENGTH,
  RUN_MODES,
  type RunExecutionLocation,
  type RunMode,
} from '../../domain/run.js';
import type { Metadata, RunFilters } from '../../domain/run-filters.js';
import { LIST_FILTERS, RUN_SORTS, type RunSort } from '../../persistence/run-list-filters.js';
import type { SortOrder } from '../../persistence/run-list-parts.js';
import { AmbientAgentConfig } from './agent-config.dto.js';
import { FollowupAttachment, MAX_FILES } from './followup-attachment.dto.js';
import { CreatedRun } from './run-responses.dto.js';

const OPTIONAL = { optional: true } as const;

export class AttachmentInput {
  @StringField({ blank: false, max: 255, description: 'Name of the file, without directories.' }) file_name: string;
  @StringField({ blank: false, max: 255, description: 'Media type.' }) mime_type: string;
  @StringField({ description: 'Base64.' }) data: string;
}

/** Bytes of UTF-8 that a prompt may have; more is a 413. */
export const MAX_PROMPT_BYTES = 1_048_576;

export class RunConcurrency {
  @StringField({
    blank: false,
    max: 500,
    description: 'Names what the runs are for, such as a ticket. Not shared with automations.',
    example: 'ticket-417',
  })
  key: string;
  @EnumField(REQUEST_POLICIES, {
    name: 'RunConcurrencyPolicy',
    description:
      '`skip`: 409 while the newest run is active. `supersede`: it is cancelled. `continue`: it gets the prompt, the mode and the attachments as a follow-up, and the response has its ID; a run is created only if it cannot be continued. `queue`: the new run starts when the earlier ones have ended. `debounce`: so it does, and only after `delay_seconds`; a newer run that is created before replaces it.',
  })
  policy: (typeof REQUEST_POLICIES)[number];
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: MAX_DELAY_SECONDS,
    description: `With \`debounce\`: seconds; default ${DEFAULT_DELAY_SECONDS}. Newer runs delay the first one for ${MAX_DELAYS} times as long at most.`,
  })
  delay_seconds?: number;
}

/**
 * Defaults of body fields stand in their descriptions: client generators take a schema's `default` for a promise that the
 * field is there, and would ask for it in every request.
 */
export class RunInput {
  @StringField({
    blank: false,
    description: 'What the agent is to do; at most 1 MiB of UTF-8.',
    example: 'Fix the failing test.',
  })
  prompt: string;
  @ObjectField(() => AmbientAgentConfig, { ...OPTIONAL, description: 'Configuration of the run.' })
  config?: AmbientAgentConfig;
  @StringField({ ...OPTIONAL, blank: false, max: 512, description: 'Default: the first line of the prompt.' })
  title?: string;
  @EnumField(RUN_MODES, { ...OPTIONAL, name: 'RunMode', description: 'Mode in which the agent starts.' })
  mode?: RunMode;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 1024,
    description:
      'Skill whose instructions become part of the base prompt, with the prompt as arguments: `repo:skill`, `owner/repo:skill` or `:path`; wins over config.skill_spec.',
  })
  skill?: string;
  @BooleanField({ ...OPTIONAL, description: 'Whether the team owns the run. Default: true for a caller on one team.' })
  team?: boolean;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 64,
    description: 'Agent identity that executes the run; team-owned runs only.',
  })
  agent_identity_uid?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64, description: 'Conversation to continue.' })
  conversation_id?: string;
  @ArrayField(object(() => AttachmentInput), {
    ...OPTIONAL,
    maxItems: 5,
    description: 'Files that are placed beside the prompt, at most 5.',
  })
  attachments?: AttachmentInput[];
  @StringField({ ...OPTIONAL, blank: false, max: 64, description: 'ID of the run that started this one.' })
  parent_run_id?: string;
  @BooleanField({
    ...OPTIONAL,
    description: 'A person watches: the agent’s permission requests block the run until answered. Default: false.',
  })
  interactive?: boolean;
  @MapField(text({ maxBytes: 256 }), {
    ...OPTIONAL,
    maxEntries: 20,
    keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
    keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
    description: 'Immutable labels.',
  })
  metadata?: Record<string, string>;
}

export class RunAgentRequest extends RunInput {
  @ObjectField(() => RunConcurrency, {
    ...OPTIONAL,
    description: 'What happens to the newest run of the same owner with the same key.',
  })
  concurrency?: RunConcurrency;
}

/** Absent fields are those of the source. */
@optionalBody
export class RerunRunRequest {
  @StringField({
    ...OPTIONAL,
    blank: false,
    description: 'Replaces the prompt; at most 1 MiB of UTF-8. It is the argument of the skills, too.',
    example: 'Fix the failing test, and add another one.',
  })
  prompt?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512, description: 'Replaces the title.' }) title?: string;
  @EnumField(RUN_MODES, { ...OPTIONAL, name: 'RunMode', description: 'Replaces the mode in which the agent starts.' })
  mode?: RunMode;
  @ObjectField(() => AmbientAgentConfig, {
    ...OPTIONAL,
    description: 'Each field replaces the same field of the submitted configuration; the other fields stay.',
  })
  config?: AmbientAgentConfig;
  @MapField(text({ maxBytes: 256 }), {
    ...OPTIONAL,
    maxEntries: 20,
    keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
    keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
    description: 'Replaces all labels.',
  })
  metadata?: Record<string, string>;
}

export class RunFollowupRequest {
  @StringField({
    ...OPTIONAL,
    description:
      'Message of at most 1 MiB of UTF-8; it may be empty only with attachments, or when the run continues from its saved conversation.',
  })
  message?: string;
  @ArrayField(object(() => FollowupAttachment), {
    ...OPTIONAL,
    maxItems: MAX_FILES,
    description:
      'Files that were prepared with `attachments/prepare` and uploaded. The agent finds them in its workspace.',
  })
  attachments?: FollowupAttachment[];
  @EnumField(RUN_MODES, { ...OPTIONAL, name: 'RunMode', description: 'Mode in which the agent starts.' })
  mode?: RunMode;
}

export class TimelineParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 1000, default: 1000, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
}

export class ApprovalDecisionRequest {
  @EnumField(APPROVAL_DECISIONS, {
    name: 'ApprovalDecision',
    description:
      '`allow_always`: this request, and for the rest of the run all that have the same `subject`. `answer`: the answer to a question, with `option_id`, `text` or both. A question that is denied gets no answer.',
  })
  decision: ApprovalDecisionWord;
  @StringField({ ...OPTIONAL, max: 4096, description: 'Sent to the agent and kept in the timeline.' }) note?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 256,
    description: 'ID of one of the `options` of a question. Only with the decision `answer`.',
  })
  option_id?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: MAX_ANSWER_LENGTH,
    description: 'Text of an answer, if the question has `allow_text`. Only with the decision `answer`.',
  })
  text?: string;
}

export class ListApprovalsParameters {
  @EnumField(APPROVAL_STATES, { ...OPTIONAL, description: 'Default: all.' })
  state?: ApprovalState;
  @IntegerField({ ...OPTIONAL, min: 1, max: 100, default: 20, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
}

export const EXTERNAL_SOURCES = ['CLI', 'LOCAL', 'GITHUB_ACTION'] as const;
export type ExternalSource = (typeof EXTERNAL_SOURCES)[number];

export class RegisterExternalRunRequest extends RunInput {
  @EnumField(EXTERNAL_SOURCES, {
    ...OPTIONAL,
    name: 'ExternalRunSource',
    description: 'Default: CLI. With GITHUB_ACTION the default of execution_location is REMOTE, else LOCAL.',
  })
  source?: ExternalSource;
  @EnumField(EXECUTION_LOCATIONS, { ...OPTIONAL, name: 'RunExecutionLocation', description: 'Where the agent runs.' })
  execution_location?: RunExecutionLocation;
}

export class RegisterExternalRunResponse extends CreatedRun {
  @StringField({ description: 'The execution to claim over the runner protocol.' }) execution_id: string;
  @StringField({ description: 'Good for this execution only, and for as long as it lives.' }) token: string;
}

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

const RUN_ID_FILTERS = new Set(['ancestorRunId', 'rerunOf', 'forkedFrom']);

/** UUIDs are compared in lower case. */
const normalized = (filter: string, value: unknown): unknown =>
  RUN_ID_FILTERS.has(filter) && typeof value === 'string' ? value.toLowerCase() : value;

/** The parameter `metadata`, sorted by its keys, then each parameter that stands for one key. */
function metadataOf({ metadata, ...query }: ListRunsParameters): Metadata[] {
  const named = LIST_FILTERS.flatMap(({ parameter, sql }): Metadata[] => {
    const value = query[parameter];
    return sql.by === 'metadata' && sql.key !== undefined && typeof value === 'string' ? [{ [sql.key]: value }] : [];
  });
  if (metadata === undefined) return named;
  return [Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))), ...named];
}

/** Absent fields are those of the source. */
@optionalBody
export class ForkRunRequest {
  @JsonField({
    ...OPTIONAL,
    schema: {
      oneOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', minLength: 1, maxLength: 64 },
      ],
    },
    description:
      'Where to fork: a sequence number of the log (`sequence` in the timeline), the id of a snapshot, or the id of a step of the conversation. The last snapshot at or before it is used. Default: the last snapshot.',
  })
  at?: number | string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    description: 'What the agent is to do next; at most 1 MiB of UTF-8. Default: it continues.',
  })
  prompt?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512, description: 'Default: the title of the run.' }) title?: string;
  @ObjectField(() => AmbientAgentConfig, {
    ...OPTIONAL,
    description: 'Replaces fields of the configuration of the run, such as `harness` or `environment_id`.',
  })
  config?: AmbientAgentConfig;
  @IntegerField({ ...OPTIONAL, min: 1, max: 10, description: 'How many forks to start. Default: 1.' }) count?: number;
  @MapField(text({ maxBytes: 256 }), {
    ...OPTIONAL,
    maxEntries: 20,
    keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
    keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
    description: 'Labels of the forks, beside those of the run.',
  })
  metadata?: Metadata;
}
