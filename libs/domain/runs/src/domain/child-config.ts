import type { AgentConfig } from '#execution/executions';
import type { Run } from './run.js';

/** What a run inherits for its session, its cost and its permissions. */
const BOUNDS = [
  'permission_allow_list',
  'approval_timeout_minutes',
  'max_runtime_minutes',
  'max_cost_usd',
  'max_tokens',
] as const satisfies readonly (keyof AgentConfig)[];
/** Of the instructions of the parent, which are not those of its children. */
const OWN = ['name', 'base_prompt', 'skill_spec', 'skills', 'idle_timeout_minutes'] as const;

export interface ChildConfigChoice {
  /** Another agent identity executes the child: it brings its own environment, agent and servers. */
  readonly hasOtherIdentity: boolean;
  readonly environmentId: string | undefined;
  readonly harness: string | undefined;
  readonly modelId: string | undefined;
}

/**
 * The configuration of a run that the agent of `run` starts. `submitted`: that of `run`. Its permissions and limits are never wider
 * than those of `run`, whatever is chosen.
 */
export function childConfig(
  { config, interactive }: Pick<Run, 'config' | 'interactive'>,
  submitted: AgentConfig,
  { hasOtherIdentity, environmentId, harness, modelId }: ChildConfigChoice,
): AgentConfig {
  const inherited = hasOtherIdentity ? {} : without(submitted, OWN);
  // A model belongs to its agent.
  const own = harness === undefined ? inherited : without(inherited, ['harness', 'model_id', 'harness_auth_secrets']);
  // Its environment allows it.
  const base = environmentId === undefined ? own : without(own, ['repository']);
  return {
    ...base,
    ...Object.fromEntries(BOUNDS.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]]))),
    permission_policy: config.permission_policy ?? (interactive ? 'ask' : 'allow'),
    // Nobody sends a message to it; its session ends with its turn.
    idle_timeout_minutes: 0,
    ...(environmentId !== undefined && { environment_id: environmentId }),
    ...(harness !== undefined && { harness: { type: harness } }),
    ...(modelId !== undefined && { model_id: modelId }),
  };
}

function without(config: AgentConfig, keys: readonly string[]): AgentConfig {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
}
