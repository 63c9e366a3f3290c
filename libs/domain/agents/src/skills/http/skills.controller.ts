import { Controller, Get, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, ProblemError } from '#platform/http';
import { ListSkills } from '../application/list-skills.js';
import { presentGroup } from './present-skills.js';
import { ListAgentsParameters, ListAgentsResponse } from './skill.dto.js';

@Controller('agent')
export class SkillsController {
  constructor(private readonly list: ListSkills) {}

  @Get()
  @Authorize('environments:read')
  @Operation({
    id: 'listAgents',
    summary: 'List agents',
    description:
      'Skills found in the repositories of all environments that the caller may use, those in `skills_dirs` of connected self-hosted workers, and those that ship with Headrace, grouped by name; with `repo` those of one repository, which need not be in an environment if everybody may read it. A repository that cannot be read is left out, and is a 400 when `repo` names it, or a 503 when that may go away by itself.',
    tag: 'Agents',
    team: true,
    success: { status: 200, description: 'The agents.', type: ListAgentsResponse },
    errors: [400, 403],
  })
  async listAgents(@CurrentCaller() caller: Caller, @Query() query: ListAgentsParameters): Promise<ListAgentsResponse> {
    const result = await this.list.execute(caller, {
      ...(query.repo !== undefined && { repo: query.repo }),
      refresh: query.refresh ?? false,
      sortBy: query.sort_by ?? 'name',
      includeMalformed: query.include_malformed_skills ?? false,
    });
    switch (result.kind) {
      case 'listed':
        return { agents: result.groups.map((group) => presentGroup(group, result.lastRuns)) };
      case 'invalid_repository':
        throw new ProblemError('invalid_request', `\`repo\` ${result.detail}.`, {
          errors: [{ pointer: '/repo', detail: result.detail }],
        });
      case 'unavailable':
        throw new ProblemError('resource_unavailable', result.detail);
    }
  }
}
