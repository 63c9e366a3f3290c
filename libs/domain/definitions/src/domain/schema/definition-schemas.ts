import { CONCURRENCY_POLICIES, MAX_CONCURRENCY_KEY, MAX_FOLLOWUPS } from '#domain/automations';
import { DEFAULT_DELAY_SECONDS, MAX_DELAY_SECONDS } from '#domain/runs';
import { SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import type { ResourceKind } from '../definition.js';

const uidOf = (noun: string, description: string): object => ({
  type: 'string',
  pattern: '^[A-Za-z0-9]{22}$',
  patternErrorMessage: `must be the UID of ${noun}, 22 letters and digits`,
  description,
});

export const text = (maxLength: number, description: string, more: object = {}): object => ({
  type: 'string',
  minLength: 1,
  maxLength,
  pattern: '\\S',
  patternErrorMessage: 'must not be blank',
  description,
  ...more,
});

const AGENT_SETTINGS: Readonly<Record<string, object>> = {
  model: text(256, 'Model of the runs, such as `auto` or an id of GET /agent/models.'),
  environmentId: uidOf('an environment', 'UID of an environment of the team, in which the runs work.'),
  workerHost: text(256, 'Self-hosted worker that executes the runs; `warp` stands for hosted workers.'),
  harness: text(64, 'Agent program of the runs; `oz` is the built-in one.'),
  mcpServers: {
    type: 'object',
    description:
      'MCP servers of the runs, by the name that they have there. Only servers that are registered for the team: files hold no commands, addresses or secrets.',
    maxProperties: 32,
    propertyNames: { minLength: 1, maxLength: 128 },
    additionalProperties: {
      type: 'object',
      properties: {
        warp_id: uidOf('an MCP server', 'UID of an MCP server that is registered for the team.'),
      },
      required: ['warp_id'],
      additionalProperties: false,
    },
  },
};

/** A kind of triggers, as far as files are concerned: what `TriggerProviders` knows of it. */
interface KnownTrigger {
  readonly provider: string;
  readonly event: string;
  /** JSON Schema (2020-12) of the fields beside `provider` and `event`. */
  readonly schema: { readonly properties: Readonly<Record<string, object>>; readonly required: readonly string[] };
}

/** Any of these triggers; which one is decided by provider and event, so that only what belongs to it is complained about. */
function triggerSchema(known: readonly KnownTrigger[]): object {
  const providers = [...new Set(known.map(({ provider }) => provider))];
  return {
    type: 'object',
    title: 'Trigger',
    description: 'One kind of event that starts the automation.',
    properties: {
      provider: { ...oneOf(providers), description: 'Where events come from.' },
      event: { type: 'string', description: 'What happens there.' },
    },
    required: ['provider', 'event'],
    ...(known.length > 0 && {
      allOf: [...providers.map((provider) => eventsOf(provider, known)), ...known.map(fieldsOf)],
    }),
  };
}

const oneOf = (values: readonly string[]): object =>
  values.length === 0 ? { type: 'string' } : { type: 'string', enum: values };

const eventsOf = (provider: string, known: readonly KnownTrigger[]): object => ({
  if: { properties: { provider: { const: provider } }, required: ['provider'] },
  then: { properties: { event: oneOf(known.filter((one) => one.provider === provider).map(({ event }) => event)) } },
});

const fieldsOf = ({ provider, event, schema: { properties, required } }: KnownTrigger): object => ({
  if: { properties: { provider: { const: provider }, event: { const: event } }, required: ['provider', 'event'] },
  then: { properties: { provider: true, event: true, ...properties }, required, additionalProperties: false },
});

export interface KnownParts {
  /** Absent: those of Headrace. */
  readonly authModes?: readonly string[];
  readonly triggers: readonly KnownTrigger[];
}

export const SCHEMA_VERSION = 'v1alpha1';

const enabled = (description: string): object => ({ type: 'boolean', default: true, description });

const FACTORY = {
  title: 'factory.yaml',
  description: 'The factory itself: how it is called, and what its agents start with.',
  properties: {
    schemaVersion: { const: SCHEMA_VERSION, description: `Always ${SCHEMA_VERSION}.` },
    name: text(200, 'What the factory is called.'),
    description: { type: 'string', maxLength: 2000, default: '', description: 'What it is for.' },
    alias: text(64, 'A short second name, unique in the team.'),
    agentDefaults: {
      type: 'object',
      description: 'Settings of all its agents and automations that have no other.',
      properties: AGENT_SETTINGS,
      additionalProperties: false,
    },
  },
  required: ['schemaVersion', 'name'],
};

const AUTH_MODES = ['token', 'url_token', 'signature'];

const webhook = ({ authModes = AUTH_MODES }: KnownParts): object => ({
  title: 'webhooks/<name>.yaml',
  description: 'An address that a sender posts to. It is called like the file.',
  properties: {
    authMode: {
      type: 'string',
      enum: authModes,
      default: 'token',
      description:
        '`token`: a bearer token in the Authorization header. `url_token`: the token is part of the URL. `signature`: the sender signs.',
    },
    signatureScheme: text(64, 'How the sender signs: an id of GET /webhook-signature-schemes.'),
    secretName: {
      type: 'string',
      pattern: SECRET_NAME.source,
      patternErrorMessage: `must be ${SECRET_NAME_RULE}`,
      description: 'Name of the managed secret of the team that holds the credential.',
    },
    deliveryIdHeader: text(128, 'Header in which the sender puts its own id of a delivery.'),
    enabled: enabled('Senders get 404 while it is false.'),
  },
  required: ['secretName'],
  if: { properties: { authMode: { const: 'signature' } }, required: ['authMode'] },
  then: { required: ['signatureScheme'] },
  else: { properties: { signatureScheme: { not: {}, errorMessage: 'goes with `authMode: signature` only' } } },
});

const CONCURRENCY = {
  type: 'object',
  description: 'What happens when an event matches while a run for the same key exists.',
  properties: {
    policy: {
      type: 'string',
      enum: CONCURRENCY_POLICIES,
      description:
        'Start another run at once, start none while it is active, cancel it, send it a follow-up, start another run when it has ended, or only after a time without events.',
    },
    key: text(
      MAX_CONCURRENCY_KEY,
      'Text with placeholders. Default: the issue, pull request, branch or tag of the event.',
    ),
    maxFollowups: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_FOLLOWUPS,
      description: 'How many follow-ups the automation sends to one run, with the policy `continue`.',
    },
    delaySeconds: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_DELAY_SECONDS,
      default: DEFAULT_DELAY_SECONDS,
      description: 'The time without events, with the policy `debounce`.',
    },
  },
  required: ['policy'],
  additionalProperties: false,
};

const part = (description: string): object => ({ type: 'boolean', default: true, description });
const ANSWERS = {
  type: 'object',
  description: 'What runs show at the issue, pull request or thread of their event.',
  properties: {
    comment: part('One comment or message for each run, edited in place.'),
    check: part('A check run or a commit status on the head of the pull request.'),
    reaction: part('A reaction to what has caused the event.'),
    secretName: {
      type: 'string',
      pattern: SECRET_NAME.source,
      description: 'Managed secret of the team with the bot token for answers in Slack. Without it Slack shows none.',
    },
    decisions: {
      type: 'boolean',
      default: false,
      description: 'Buttons in Slack decide requests of the run. Everybody in the channel can press them.',
    },
  },
  additionalProperties: false,
};

const automation = (known: KnownParts): object => ({
  title: 'automations/<name>/automation.md',
  description: 'What starts runs, and with which settings; the prompt follows the front matter.',
  properties: {
    enabled: enabled('Starts nothing while it is false.'),
    agent: text(63, 'Name of an agent of this definition, agents/<name>/agent.md, that executes the runs.'),
    triggers: {
      type: 'array',
      minItems: 1,
      items: triggerSchema(known.triggers),
      description: 'What starts it, each by itself.',
    },
    concurrency: CONCURRENCY,
    answers: ANSWERS,
    eventRepository: {
      type: 'boolean',
      default: false,
      description: 'Whether runs work in the repository and on the branch of their event.',
    },
    ...AGENT_SETTINGS,
  },
  required: ['triggers'],
});

const AGENT = {
  title: 'agents/<name>/agent.md',
  description: 'An agent of the factory. Its base prompt follows the front matter.',
  properties: {
    description: { type: 'string', minLength: 1, maxLength: 2000, description: 'What it is for.' },
    skills: {
      type: 'array',
      maxItems: 16,
      items: text(
        1024,
        'The name or path of a skill, as `logs` or `:skills/logs/SKILL.md`, or a spec with a repository.',
      ),
      description: 'Skills whose instructions its runs begin with, unless a run names others.',
    },
    ...AGENT_SETTINGS,
  },
};

const SKILL = {
  title: 'SKILL.md',
  description: 'What agents can read when they need it. The text follows the front matter.',
  properties: {
    name: text(128, 'What the skill is called; its directory’s name where it is left out.'),
    description: text(2000, 'When to use it.'),
  },
};

export function definitionSchemas(known: KnownParts): Record<ResourceKind, object> {
  return {
    factory: closed('factory', FACTORY),
    webhook: closed('webhook', webhook(known)),
    automation: closed('automation', automation(known)),
    agent: closed('agent', AGENT),
    // Skills are shared with other programs, which have further keys.
    skill: schema('skill', SKILL),
  };
}

const schema = (kind: ResourceKind, content: object): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: `urn:headrace:factory-files:${SCHEMA_VERSION}:${kind}`,
  type: 'object',
  ...content,
});

const closed = (kind: ResourceKind, content: object): object => ({
  ...schema(kind, content),
  additionalProperties: false,
});
