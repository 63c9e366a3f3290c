import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  field,
  IntegerField,
  json,
  JsonField,
  type Kind,
  object,
  ObjectField,
  PageInfo,
  StringField,
} from '#platform/http';
import { AmbientAgentConfig } from '#domain/runs';
import { SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import {
  AUTOMATION_SOURCES,
  type AutomationSource,
  MAX_AUTOMATION_NAME,
  MAX_PROMPT_BYTES,
  MAX_TRIGGERS,
} from '../domain/automation.js';
import { DEFAULT_DELAY_SECONDS, MAX_DELAY_SECONDS, MAX_DELAYS } from '#domain/runs';
import { CONCURRENCY_POLICIES, MAX_CONCURRENCY_KEY, MAX_FOLLOWUPS } from '../domain/concurrency.js';
import type { Trigger } from '../domain/trigger.js';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;
const IGNORED = { ...OPTIONAL, description: 'Ignored, so that the body of a GET response can be sent back.' } as const;

const TRIGGER_SCHEMA: Kind['schema'] = {
  type: 'object',
  required: ['provider', 'event'],
  properties: {
    provider: { type: 'string', description: 'Source of the events.', example: 'webhook' },
    event: { type: 'string', description: 'Kind of the event.', example: 'received' },
    obstacle: {
      type: 'object',
      required: ['code', 'detail'],
      properties: {
        code: { type: 'string', description: 'Stable code of the reason.', example: 'webhook_deleted' },
        detail: { type: 'string', description: 'The reason in words.' },
      },
      description: 'Reason why this trigger can never fire. Present in responses, ignored in requests.',
    },
  },
  additionalProperties: true,
};
const trigger: Kind = { ...json(), schema: TRIGGER_SCHEMA };
/** For a single field, whose own `required` would replace that of the schema. */
export const oneTrigger: Kind = { ...json(), schema: { allOf: [TRIGGER_SCHEMA] } as Kind['schema'] };

const NAME = {
  blank: false,
  max: MAX_AUTOMATION_NAME,
  description: 'Name of the automation; also the title of its runs.',
  example: 'triage',
};
const PROMPT = {
  blank: false,
  maxBytes: MAX_PROMPT_BYTES,
  description: `Task of the agent; at most ${MAX_PROMPT_BYTES} bytes of UTF-8. \`{{ payload.issue.title }}\` refers to a value of the payload.`,
};
const CONFIG = {
  ...OPTIONAL,
  nullable: true,
  description: 'Configuration of its runs; 64 KiB of JSON at most.',
} as const;
const IDENTITY = {
  ...OPTIONAL,
  nullable: true,
  max: 64,
  description: 'Agent identity of the team that executes its runs.',
} as const;
const TRIGGERS = {
  minItems: 1,
  maxItems: MAX_TRIGGERS,
  description:
    'Events that start it; several triggers that match one event start one run. `{provider: "webhook", event: "received", filter: {webhook_ids: [uid], payload?}}`: an accepted delivery of that webhook. `{provider: "github", event: "issue_labeled", filter?}` and others: an event of GitHub or GitLab. `{provider: "slack", event: "mention", filter?}` and others: a message in Slack.',
};

export class AutomationConcurrencyItem {
  @EnumField(CONCURRENCY_POLICIES, {
    name: 'ConcurrencyPolicy',
    description:
      'What happens to the newest run of the key. `allow`: nothing, another run starts. `skip`: no run starts while it is active. `supersede`: it is cancelled, and another run starts. `continue`: it gets a follow-up in place of another run. `queue`: another run starts when it has ended. `debounce`: so it does, and only after `delay_seconds` without another event; of the runs that wait, the newest one stays.',
  })
  policy: (typeof CONCURRENCY_POLICIES)[number];
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: MAX_CONCURRENCY_KEY,
    description:
      'Text with placeholders such as `{{ payload.issue.number }}`. Default: the issue, pull request, branch, tag or thread of the event, which all automations of the factory share; for other events, the automation.',
  })
  key?: string;
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: MAX_FOLLOWUPS,
    description: 'With `continue`: how many follow-ups the automation sends to one run. Default: any number.',
  })
  max_followups?: number;
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: MAX_DELAY_SECONDS,
    description: `With \`debounce\`: seconds; default ${DEFAULT_DELAY_SECONDS}. Events that do not stop delay the run for ${MAX_DELAYS} times as long at most.`,
  })
  delay_seconds?: number;
}

const PART = { ...OPTIONAL, default: true } as const;

export class AutomationAnswersItem {
  @BooleanField({ ...PART, description: 'One comment or message for each run, edited in place.' }) comment?: boolean;
  @BooleanField({
    ...PART,
    description: 'A check run or a commit status on the head of the pull request.',
  })
  check?: boolean;
  @BooleanField({ ...PART, description: 'A reaction to what has caused the event.' }) reaction?: boolean;
  @StringField({
    ...OPTIONAL,
    pattern: SECRET_NAME,
    says: SECRET_NAME_RULE,
    description: 'Managed secret of the team with the bot token for answers in Slack. Without it Slack shows none.',
    example: 'slack-bot',
  })
  secret_name?: string;
  @BooleanField({
    ...OPTIONAL,
    default: false,
    description:
      'Buttons in Slack decide permission requests and questions of the run. Everybody in the channel can press them.',
  })
  decisions?: boolean;
}

const ANSWERS = {
  ...OPTIONAL,
  nullable: true,
  description:
    'What runs show at the issue, pull request or thread of their event. Default: everything; nothing in Slack.',
} as const;

const EVENT_REPOSITORY = {
  ...OPTIONAL,
  description:
    'Whether runs work in the repository and on the branch of their event, as with `repository` of a configuration. Default: false.',
} as const;

const CONCURRENCY = {
  ...OPTIONAL,
  nullable: true,
  description:
    'What happens when an event matches while a run for the same key exists. Default: another run starts; for messages of Slack, the run of the thread is continued.',
} as const;

export class CreateAutomationRequest {
  @StringField(NAME) name: string;
  @BooleanField({ description: 'Whether the automation starts runs.' }) enabled: boolean;
  @StringField(PROMPT) prompt: string;
  @ObjectField(() => AmbientAgentConfig, CONFIG) agent_config?: AmbientAgentConfig | null;
  @StringField(IDENTITY) agent_identity_uid?: string | null;
  @ObjectField(() => AutomationConcurrencyItem, CONCURRENCY) concurrency?: AutomationConcurrencyItem | null;
  @ObjectField(() => AutomationAnswersItem, ANSWERS) answers?: AutomationAnswersItem | null;
  @BooleanField(EVENT_REPOSITORY) event_repository?: boolean;
  @ArrayField(trigger, TRIGGERS) triggers: Trigger[];
}

export class ReplaceAutomationRequest extends CreateAutomationRequest {
  @StringField(IGNORED) uid?: string;
  @StringField(IGNORED) source?: string;
  @StringField(IGNORED) created_at?: string;
  @StringField(IGNORED) updated_at?: string;
}

export class AutomationItem {
  @StringField({ ...UID, description: 'UID of the automation.' }) uid: string;
  @StringField({ description: 'Name of the automation; also the title of its runs.' }) name: string;
  @BooleanField({ description: 'Whether the automation starts runs.' }) enabled: boolean;
  @StringField({ description: 'Task of the agent; in lists the first 2,048 characters.' }) prompt: string;
  @ObjectField(() => AmbientAgentConfig, { ...OPTIONAL, description: 'Values of `env` and `headers` are masked.' })
  agent_config?: AmbientAgentConfig;
  @StringField({ ...OPTIONAL, description: 'UID of the agent identity that executes the runs.' })
  agent_identity_uid?: string;
  @ObjectField(() => AutomationConcurrencyItem, { ...OPTIONAL, description: 'Absent: another run starts.' })
  concurrency?: AutomationConcurrencyItem;
  @ObjectField(() => AutomationAnswersItem, { ...OPTIONAL, description: 'Absent: everything.' })
  answers?: AutomationAnswersItem;
  @BooleanField(EVENT_REPOSITORY) event_repository?: boolean;
  @ArrayField(trigger, { description: 'Events that start a run.' }) triggers: Trigger[];
  @EnumField(AUTOMATION_SOURCES, {
    name: 'AutomationSource',
    description:
      '`definition`: created by the definition files of the factory, whose next apply overwrites other changes.',
  })
  source: AutomationSource;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

export class ListAutomationsParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 500, default: 100, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
}

export class ListAutomationsResponse {
  @ArrayField(object(() => AutomationItem), { description: 'The automations, by name, then by uid.' })
  automations: AutomationItem[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

/** Bytes of JSON, as of a delivery. */
export const MAX_PAYLOAD_BYTES = 262_144;

const ANY_JSON = {
  oneOf: [
    // Beside `oneOf`, where there is no type, OpenAPI 3.0 does not allow `nullable`.
    { type: 'object' as const, additionalProperties: true, nullable: true },
    { type: 'array' as const, items: {} },
    { type: 'string' as const },
    { type: 'number' as const },
    { type: 'boolean' as const },
  ],
};

export class TestAutomationTriggerRequest {
  @StringField({ optional: true, max: 64, description: 'ID of an accepted delivery of the factory.' })
  delivery_id?: string;
  @JsonField({
    optional: true,
    schema: ANY_JSON,
    description: 'Any JSON value, including null, of at most 256 KiB, instead of a delivery.',
  })
  payload?: unknown;
}

export class TestUnsavedTriggerRequest extends TestAutomationTriggerRequest {
  @field(oneTrigger, { description: 'The trigger, as in an automation.' }) trigger: Trigger;
}

export class TriggerCheckItem {
  @StringField({
    description: 'Name of the check: `enabled`, `webhook`, `payload`; other kinds of triggers may have others.',
  })
  check: string;
  @BooleanField({ description: 'Whether the check passed.' }) passed: boolean;
  @StringField({ description: 'The clause and the value that decided the check.' }) reason: string;
}

export const VERDICTS = ['Would trigger', 'Would not trigger'] as const;

export class TestTriggerResponse {
  @BooleanField({ description: 'Whether the trigger would start a run.' }) would_trigger: boolean;
  @EnumField(VERDICTS, { name: 'TriggerVerdict', description: 'The result in words.' })
  verdict: (typeof VERDICTS)[number];
  @ArrayField(object(() => TriggerCheckItem), {
    description: 'All checks, in the order of their evaluation.',
  })
  checks: TriggerCheckItem[];
}
