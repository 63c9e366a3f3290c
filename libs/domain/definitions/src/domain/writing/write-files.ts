import { Document, isScalar, type Pair, Scalar, visit } from 'yaml';
import type {
  AgentSettings,
  AgentSpec,
  AutomationSpec,
  DefinitionFile,
  FactorySpec,
  WebhookSpec,
} from '../definition.js';
import { settingsOf, toServers, withoutDefaults } from '../desired-state.js';
import { resourcePath } from '../files/layout.js';
import { bodyOf } from '../files/source-text.js';
import { SCHEMA_VERSION } from '../schema/definition-schemas.js';

/** The canonical text of factory.yaml: keys in one order, defaults left out. Reading it gives `spec` back. */
export function writeFactory({ name, description, alias, agentDefaults }: FactorySpec): DefinitionFile {
  const defaults = settingsIn(agentDefaults);
  return {
    path: resourcePath('factory', name),
    content: writeYaml({
      schemaVersion: SCHEMA_VERSION,
      name,
      ...(description !== '' && { description }),
      ...(alias !== null && { alias }),
      ...(Object.keys(defaults).length > 0 && { agentDefaults: defaults }),
    }),
  };
}

export function writeWebhook(spec: WebhookSpec): DefinitionFile {
  const { name, authMode, signatureScheme, secretName, deliveryIdHeader, enabled } = spec;
  return {
    path: resourcePath('webhook', name),
    content: writeYaml({
      ...(authMode !== 'token' && { authMode }),
      ...(signatureScheme !== null && { signatureScheme }),
      secretName,
      ...(deliveryIdHeader !== null && { deliveryIdHeader }),
      ...(!enabled && { enabled }),
    }),
  };
}

/** As {@link writeFactory}. Without an agent, it leaves out what the factory's `defaults` say too. */
export function writeAutomation(spec: AutomationSpec, defaults: AgentSettings = {}): DefinitionFile {
  const { name, enabled, agent, concurrency, answers, triggers, prompt } = spec;
  return {
    path: resourcePath('automation', name),
    content: withFrontMatter(
      {
        ...(!enabled && { enabled }),
        ...(agent !== null && { agent }),
        ...settingsIn(agent === null ? own(spec, defaults) : spec),
        ...(concurrency !== undefined && {
          concurrency: {
            policy: concurrency.policy,
            ...(concurrency.key !== null && { key: concurrency.key }),
            ...(concurrency.maxFollowups !== null && { maxFollowups: concurrency.maxFollowups }),
            ...(concurrency.delaySeconds !== undefined && { delaySeconds: concurrency.delaySeconds }),
          },
        }),
        ...(answers !== undefined && {
          // Parts are on and decisions are off unless the file says otherwise.
          answers: Object.fromEntries(
            Object.entries(answers).filter(([name, value]) => !value || name === 'secretName' || name === 'decisions'),
          ),
        }),
        ...(spec.eventRepository === true && { eventRepository: true }),
        triggers: triggers.map(({ provider, event, ...fields }) => ({ provider, event, ...fields })),
      },
      prompt,
    ),
  };
}

/** As {@link writeFactory}. Leaves out what the factory's `defaults` say too. */
export function writeAgent(spec: AgentSpec, defaults: AgentSettings = {}): DefinitionFile {
  const { name, description, prompt, skills = [] } = spec;
  return {
    path: resourcePath('agent', name),
    content: withFrontMatter(
      {
        ...(description !== null && { description }),
        ...(skills.length > 0 && { skills }),
        ...settingsIn(own(spec, defaults)),
      },
      prompt,
    ),
  };
}

const own = (spec: AgentSettings, defaults: AgentSettings): AgentSettings =>
  Object.keys(defaults).length === 0 ? spec : withoutDefaults(defaults, spec);

function settingsIn(spec: AgentSettings): Readonly<Record<string, unknown>> {
  const { mcpServers, ...others } = settingsOf(spec);
  return { ...others, ...(mcpServers && { mcpServers: toServers(mcpServers) }) };
}

const withFrontMatter = (value: Readonly<Record<string, unknown>>, prompt: string): string =>
  `---\n${writeYaml(value)}---\n${bodyOf(prompt)}`;

/** Values of JSON as YAML that {@link readYaml} reads back: block style, quotes where they are needed, no lines folded. */
function writeYaml(value: Readonly<Record<string, unknown>>): string {
  if (Object.keys(value).length === 0) return '';
  const document = new Document(value, { version: '1.2', schema: 'core', merge: false, aliasDuplicateObjects: false });
  visit(document, {
    Pair: (_, pair) => quoteMergeKey(pair),
    Scalar: (_, scalar) => quoteBlankLines(scalar),
  });
  return document.toString({ lineWidth: 0, blockQuote: 'literal', doubleQuotedAsJSON: true });
}

/** A plain `<<` would be read as a merge key. */
function quoteMergeKey({ key }: Pair): void {
  if (isScalar(key) && key.value === '<<') key.type = Scalar.QUOTE_DOUBLE;
}

/** A literal block of blank lines loses the spaces in them when it is read. */
function quoteBlankLines(scalar: Scalar): void {
  const { value } = scalar;
  if (typeof value === 'string' && value.includes('\n') && value.trim() === '') scalar.type = Scalar.QUOTE_DOUBLE;
}
