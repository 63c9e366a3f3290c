import { Controller, Get, type OnModuleInit, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, ProblemError, type ResourceProblems, Shutdown, unwrap } from '#platform/http';
import { ListSkills } from '../application/list-skills.js';
import { ReadSkills } from '../application/read-skills.js';
import type { SkillGroup, SkillVariant } from '../domain/found-skill.js';
import { shorten } from '../domain/parse-skill.js';
import { type AgentItem, type AgentVariant, ListAgentsParameters, ListAgentsResponse } from './skill.dto.js';

const AGENT: ResourceProblems<{ readonly kind: 'unavailable'; readonly detail: string }> = {
  noun: 'agent',
  plural: 'agents',
  problems: { unavailable: ({ detail }) => new ProblemError('resource_unavailable', detail) },
};

@ApiTags('Agents')
@Controller('agent')
export class SkillsController implements OnModuleInit {
  constructor(
    private readonly skills: ListSkills,
    private readonly reader: ReadSkills,
    private readonly shutdown: Shutdown,
  ) {}

  /** A request that waits for a repository must not delay the shutdown. */
  onModuleInit(): void {
    this.shutdown.onShutdown(() => this.reader.abort());
  }

  @Get()
  @Authorize('environments:read')
  @Operation({
    id: 'listAgents',
    summary: 'List agents',
    description:
      'Skills found in the repositories of all environments that the caller may use, those in `skills_dirs` of connected self-hosted workers, and those that ship with Headrace, grouped by name; with `repo` those of one repository, which need not be in an environment if everybody may read it. A repository that cannot be read is left out, and is a 400 when `repo` names it, or a 503 when that may go away by itself.',
    team: true,
    success: { status: 200, description: 'The agents.', type: ListAgentsResponse },
    errors: [400, 403],
  })
  async listAgents(@CurrentCaller() caller: Caller, @Query() query: ListAgentsParameters): Promise<ListAgentsResponse> {
    const result = await this.skills.list(caller, {
      repo: query.repo,
      refresh: query.refresh ?? false,
      sortBy: query.sort_by ?? 'name',
      includeMalformed: query.include_malformed_skills ?? false,
    });
    const { groups, lastRuns } = unwrap(result, AGENT);
    return { agents: groups.map((group) => presentGroup(group, lastRuns)) };
  }
}

const SHOWN_PROMPT = 8_192;

function presentGroup({ name, variants }: SkillGroup, lastRuns: ReadonlyMap<string, Date>): AgentItem {
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
