import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError } from '#platform/http';
import { EnvironmentsService } from '../application/environments.service.js';
import type { EnvironmentConfig } from '../domain/environment.js';
import {
  CreateEnvironmentRequest,
  EnvironmentConfigDto,
  EnvironmentItem,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
  UpdateEnvironmentRequest,
} from './environment.dto.js';
import { EnvironmentPresenter } from './environment-presenter.js';
import { environmentProblem } from './environment-problem.js';

const TAG = 'Environments';

@Controller()
export class EnvironmentsController {
  constructor(
    private readonly environments: EnvironmentsService,
    private readonly presenter: EnvironmentPresenter,
  ) {}

  @Get('agent/environments')
  @Authorize('environments:read')
  @Operation({
    id: 'listEnvironments',
    summary: 'List environments',
    description:
      'The environments that the caller owns, those of the team, and those that were shared with either by a grant or with the caller by a link. Without the team header, of all teams of the caller.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The environments.', type: ListEnvironmentsResponse },
    errors: [400, 403],
  })
  async listEnvironments(
    @CurrentCaller() caller: Caller,
    @Query() query: ListEnvironmentsQuery,
  ): Promise<ListEnvironmentsResponse> {
    const environments = await this.environments.list(caller, query.sort_by ?? 'last_updated');
    return { environments: await this.presenter.present(caller, environments) };
  }

  // Reading suffices here, at change and at delete: whether one may write depends on whose environment it is, and one's own needs no role.
  @Post('environments')
  @Authorize('environments:read')
  @Operation({
    id: 'createEnvironment',
    summary: 'Create an environment',
    description: 'Needs the role admin or owner on the team. A personal environment needs no role.',
    tag: TAG,
    team: true,
    request: { value: { config: { name: 'node-service', setup_commands: ['node --version'] } } },
    success: { status: 201, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 413, 415],
  })
  async createEnvironment(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateEnvironmentRequest,
  ): Promise<EnvironmentItem> {
    const result = await this.environments.create(caller, { config: toConfig(body.config), team: body.team });
    switch (result.kind) {
      case 'created':
        return this.presenter.presentOne(caller, result.environment);
      case 'team_required':
        throw new ProblemError(
          'invalid_request',
          'You are a member of several teams: select one with the X-Headrace-Team-Uid header.',
          { errors: [{ pointer: '/team', detail: 'requires the team header' }] },
        );
      case 'forbidden':
        throw new ProblemError('not_authorized', 'Your role on the team does not permit managing environments.');
      case 'invalid':
      case 'not_accessible':
        throw environmentProblem(result);
    }
  }

  @Get('environments/:uid')
  @Authorize('environments:read')
  @Operation({
    id: 'getEnvironment',
    summary: 'Get an environment',
    description: 'Also for those with whom it was shared.',
    tag: TAG,
    success: { status: 200, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 404],
  })
  async getEnvironment(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<EnvironmentItem> {
    const lookup = await this.environments.get(caller, uid, 'see');
    if (lookup.kind !== 'found') throw environmentProblem(lookup);
    return this.presenter.presentOne(caller, lookup.environment);
  }

  @Put('environments/:uid')
  @Authorize('environments:read')
  @Operation({
    id: 'updateEnvironment',
    summary: 'Update an environment',
    description:
      'Replaces the configuration. Needs the role admin or owner on its team; a personal one is changed by its owner. Executions that have begun go on with what they were given.',
    tag: TAG,
    request: { value: { config: { name: 'node-service', setup_commands: ['npm --version'] } } },
    success: { status: 200, description: 'The environment as it is now.', type: EnvironmentItem },
    errors: [400, 403, 404, 413, 415],
  })
  async updateEnvironment(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { config }: UpdateEnvironmentRequest,
  ): Promise<EnvironmentItem> {
    const result = await this.environments.update(caller, uid, toConfig(config));
    if (result.kind !== 'updated') throw environmentProblem(result);
    return this.presenter.presentOne(caller, result.environment);
  }

  @Delete('environments/:uid')
  @Authorize('environments:read')
  @Operation({
    id: 'deleteEnvironment',
    summary: 'Delete an environment',
    description:
      'With its grants and links. Runs that have not begun fail for want of it. Needs the role admin or owner on its team; a personal one is deleted by its owner.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteEnvironment(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const result = await this.environments.delete(caller, uid);
    if (result.kind !== 'deleted') throw environmentProblem(result);
  }
}

/** A plain object, without the prototype of the DTO. */
const toConfig = (config: EnvironmentConfigDto): EnvironmentConfig =>
  JSON.parse(JSON.stringify(config)) as EnvironmentConfig;
