import type { AgentSettings, AgentSpec, AutomationSpec, DefinitionFile } from './definition.js';
import { fromAgentConfig, fromServers, withoutDefaults } from './desired-state.js';
import { FACTORY_PATH, isSkillPath, resourcePath } from './files/layout.js';
import { agentOf, appliedKey, FACTORY_KEY, type PresentAgent, type PresentState, untouched } from './present-state.js';
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
  const verbatimOr = (key: string, path: string, write: () => DefinitionFile): DefinitionFile =>
    (same.has(key) ? known.get(path) : undefined) ?? write();
  return [
    verbatimOr(FACTORY_KEY, FACTORY_PATH, () => writeFactory(factory)),
    ...present.webhooks
      .filter(({ source }) => source === 'definition')
      .map((webhook) =>
        verbatimOr(appliedKey('webhook', webhook.name), resourcePath('webhook', webhook.name), () =>
          writeWebhook(webhook),
        ),
      ),
    ...present.agents.map((agent) =>
      verbatimOr(appliedKey('agent', agent.name), resourcePath('agent', agent.name), () =>
        writeAgent(agentSpec(agent, defaults)),
      ),
    ),
    ...automationSpecs(present).map((spec) =>
      verbatimOr(appliedKey('automation', spec.name), resourcePath('automation', spec.name), () =>
        writeAutomation(spec),
      ),
    ),
    ...applied.files.filter(({ path }) => isSkillPath(path)),
  ].sort((one, other) => (one.path < other.path ? -1 : 1));
}

function agentSpec({ name, identity }: PresentAgent, defaults: AgentSettings): AgentSpec {
  const settings: AgentSettings = {
    ...(identity.baseModel !== null && { model: identity.baseModel }),
    ...(identity.environmentId !== null && { environmentId: identity.environmentId }),
    ...(identity.workerHost !== null && { workerHost: identity.workerHost }),
    ...(identity.harness?.type !== undefined && { harness: identity.harness.type }),
    ...fromServers(identity.mcpServers),
  };
  return {
    ...withoutDefaults(defaults, settings),
    name,
    description: identity.description,
    prompt: identity.prompt ?? '',
    ...(identity.skills.length > 0 && { skills: identity.skills }),
  };
}

/** With an agent, the defaults come with that one. */
function automationSpecs(present: PresentState): AutomationSpec[] {
  const agents = new Set(present.agents.map(({ name }) => name));
  return present.automations.map(({ name, enabled, prompt, agentConfig, agentIdentityUid, triggers }) => {
    const named = agentOf(present, agentIdentityUid);
    const agent = named !== null && agents.has(named) ? named : null;
    const settings = fromAgentConfig(agentConfig);
    const own = agent === null ? withoutDefaults(present.factory.agentDefaults, settings) : settings;
    return { ...own, name, enabled, prompt, agent, triggers };
  });
}
