import { MAX_CONFIG_BYTES } from './resolve-config.js';
import type { AgentConfig } from '#execution/executions';
import type { RunSkill } from './run.js';
import { substituteArguments } from './skill-arguments.js';

/** A skill that was found for a spec. */
export interface ChosenSkill {
  readonly asked: string;
  /** The full spec. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly body: string;
  readonly owner: string;
  readonly repo: string;
  readonly bundledSkillId?: string;
}

export type AppliedSkills =
  | { readonly kind: 'applied'; readonly config: AgentConfig; readonly skill: RunSkill }
  /** The configuration would have more than {@link MAX_CONFIG_BYTES}. */
  | { readonly kind: 'too_large' };

const MAX_NAME = 256;

/** A full spec, which is how runs store theirs: `owner/repo:path/to/SKILL.md`. */
export const isFullSpec = (spec: string): boolean => /^[^/:\s]+\/[^/:\s]+:(?:.*\/)?SKILL\.md$/s.test(spec);

/**
 * The configuration with its skills: full specs in place of the asked ones, the first skill's name, and behind the base
 * prompt the instructions of all, each once, with their arguments; several with a heading each.
 */
export function applySkills(
  config: AgentConfig,
  chosen: readonly [ChosenSkill, ...ChosenSkill[]],
  given: string,
): AppliedSkills {
  const [first] = chosen;
  const skills = chosen.filter(({ id }, index) => chosen.findIndex((other) => other.id === id) === index);
  const sections: string[] = [];
  for (const { name, body } of skills) {
    const filled = substituteArguments(body, given, MAX_CONFIG_BYTES);
    if (filled.kind === 'too_long') return { kind: 'too_large' };
    sections.push(skills.length === 1 ? filled.text : `# Skill: ${name}\n\n${filled.text}`);
  }
  const text = [config.base_prompt ?? '', ...sections].filter((part) => part.trim() !== '').join('\n\n');
  const applied = {
    ...config,
    ...(text === '' ? {} : { base_prompt: text }),
    name: config.name ?? [...first.name].slice(0, MAX_NAME).join(''),
    skill_spec: first.id,
    skills: skills.map(({ id }) => id),
  };
  return { kind: 'applied', config: applied, skill: toRunSkill(first) };
}

function toRunSkill({ asked, id, name, description, owner, repo, bundledSkillId }: ChosenSkill): RunSkill {
  const specs = new Set([asked, `${owner}/${repo}:${name}`]);
  specs.delete(id);
  return {
    name,
    description,
    ...(bundledSkillId === undefined ? { full_path: id } : { bundled_skill_id: bundledSkillId }),
    specs: [...specs],
  };
}
