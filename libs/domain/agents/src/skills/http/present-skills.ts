import { shorten } from '../domain/first-paragraph.js';
import type { SkillGroup, SkillVariant } from '../domain/group-skills.js';
import type { AgentItem, AgentVariant } from './skill.dto.js';

const SHOWN_PROMPT = 8_192;

export function presentGroup({ name, variants }: SkillGroup, lastRuns: ReadonlyMap<string, Date>): AgentItem {
  return { name, variants: variants.map((variant) => presentVariant(variant, lastRuns.get(variant.id))) };
}

function presentVariant(variant: SkillVariant, lastRun: Date | undefined): AgentVariant {
  const { id, owner, repo, workerHost, environments, skill } = variant;
  const { parsed, path } = skill;
  const isMalformed = parsed.kind === 'malformed';
  return {
    id,
    description: isMalformed ? '' : parsed.description,
    base_prompt: isMalformed ? '' : shorten(parsed.body, SHOWN_PROMPT),
    ...(isMalformed && { error: parsed.error }),
    last_run_timestamp: lastRun?.toISOString() ?? null,
    source: { owner, name: repo, skill_path: path, ...(workerHost !== undefined && { worker_host: workerHost }) },
    environments: environments.map(({ uid, name: environment }) => ({ uid, name: environment })),
  };
}
