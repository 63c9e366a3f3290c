import type { AgentSpec, AutomationSpec, DefinitionFile, ResourceKind } from './definition.js';
import { fromAgentConfig, fromServers, settingsOf } from './desired-state.js';
import { isSkillPath, resourcePath } from './files/layout.js';
import { agentOf, appliedKey, type PresentAgent, type PresentState, untouched } from './present-state.js';
import { writeAgent, writeAutomation, writeFactory, writeWebhook } from './writing/write-files.js';

/**
 * The factory as files, by path: those that were applied, verbatim, where they still describe the factory; otherwise generated.
 * What files cannot say of an agent or automation is left out.
 */
export function exportFiles(present: PresentState): DefinitionFile[] {
  const { applied, factory } = present;
  const defaults = factory.agentDefaults;
  const known = new Map(applied.files.map((file) => [file.path, file]));
  const same = untouched(present);
  const verbatimOr = (kind: ResourceKind, name: string, write: () => DefinitionFile): DefinitionFile =>
    (same.has(appliedKey(kind, name)) ? known.get(resourcePath(kind, name)) : undefined) ?? write();
  return [
    verbatimOr('factory', '', () => writeFactory(factory)),
    ...present.webhooks
      .filter(({ source }) => source === 'definition')
      .map((webhook) => verbatimOr('webhook', webhook.name, () => writeWebhook(webhook))),
    ...present.agents.map((agent) => verbatimOr('agent', agent.name, () => writeAgent(agentSpec(agent), defaults))),
    ...automationSpecs(present).map((spec) =>
      verbatimOr('automation', spec.name, () => writeAutomation(spec, defaults)),
    ),
    ...applied.files.filter(({ path }) => isSkillPath(path)),
  ].sort((one, other) => (one.path < other.path ? -1 : 1));
}

const agentSpec = ({ name, identity }: PresentAgent): AgentSpec => ({
  ...settingsOf({
    model: identity.baseModel ?? undefined,
    environmentId: identity.environmentId ?? undefined,
    workerHost: identity.workerHost ?? undefined,
    harness: identity.harness?.type,
    ...fromServers(identity.mcpServers),
  }),
  name,
  description: identity.description,
  prompt: identity.prompt ?? '',
  skills: identity.skills,
});

/** An automation without an agent inherits the defaults; otherwise the agent does. */
function automationSpecs(present: PresentState): AutomationSpec[] {
  const agents = new Set(present.agents.map(({ name }) => name));
  return present.automations.map((automation) => {
    const { name, enabled, prompt, agentConfig, agentIdentityUid, concurrency, answers, triggers, eventRepository } =
      automation;
    const named = agentOf(present, agentIdentityUid);
    const agent = named !== null && agents.has(named) ? named : null;
    return {
      ...fromAgentConfig(agentConfig),
      name,
      enabled,
      prompt,
      agent,
      ...(concurrency && { concurrency }),
      ...(answers && { answers }),
      ...(eventRepository && { eventRepository }),
      triggers,
    };
  });
}
