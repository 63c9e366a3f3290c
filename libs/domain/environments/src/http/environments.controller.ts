import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { LargeList, Operation, pathId, unwrap } from '#platform/http';
import { EnvironmentsService } from '../application/environments.service.js';
import {
  CreateEnvironmentRequest,
  EnvironmentItem,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
  UpdateEnvironmentRequest,
} from './environment.dto.js';
import { EnvironmentPresenter } from './environment-presenter.js';

export const ENVIRONMENTS = { noun: 'environment', plural: 'environments' };
export const Uid = (): ParameterDecorator => Param('uid', pathId('uid'));

@ApiTags('Environments')
@Controller()
export class EnvironmentsController {
  constructor(
    private readonly environments: EnvironmentsService,
    private readonly presenter: EnvironmentPresenter,
  ) {}

  @Get('agent/environments')
  @Authorize('environments:read')
  @LargeList()
  @Operation({
    id: 'listEnvironments',
    summary: 'List environments',
    description:
      'The environments that the caller owns, those of the team, and those that were shared with either by a grant or with the caller by a link. Without the team header, of all teams of the caller. At most 1,000 own and 1,000 shared environments, and 8 MiB of each; the others can be read by their UID.',
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

  @Post('environments')
  @Authorize('environments:write', 'environment')
  @Audited('environment.created')
  @Operation({
    id: 'createEnvironment',
    summary: 'Create an environment',
    description:
      'The environment belongs to the team, or to the caller if `team` is false. A team or a person has at most 1,000 environments.',
    team: true,
    request: { value: { config: { name: 'node-service', setup_commands: ['node --version'] } } },
    success: { status: 201, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 'limit_reached'],
  })
  async createEnvironment(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateEnvironmentRequest,
  ): Promise<EnvironmentItem> {
    const environment = unwrap(await this.environments.create(caller, body), ENVIRONMENTS);
    return this.presenter.presentOne(caller, environment);
  }

  @Get('environments/:uid')
  @Authorize('environments:read', 'environment')
  @Operation({
    id: 'getEnvironment',
    summary: 'Get an environment',
    description: 'Users and teams with a grant can read the environment too.',
    success: { status: 200, description: 'The environment.', type: EnvironmentItem },
  })
  async getEnvironment(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<EnvironmentItem> {
    const environment = unwrap(await this.environments.get(caller, uid), ENVIRONMENTS);
    return this.presenter.presentOne(caller, environment);
  }

  @Put('environments/:uid')
  @Authorize('environments:write', 'environment')
  @Audited('environment.updated')
  @Operation({
    id: 'updateEnvironment',
    summary: 'Update an environment',
    description:
      'Replaces the configuration. Executions that have started continue with the configuration that they received.',
    request: { value: { config: { name: 'node-service', setup_commands: ['npm --version'] } } },
    success: { status: 200, description: 'The updated environment.', type: EnvironmentItem },
  })
  async updateEnvironment(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Body() { config }: UpdateEnvironmentRequest,
  ): Promise<EnvironmentItem> {
    const environment = unwrap(await this.environments.update(caller, uid, config), ENVIRONMENTS);
    return this.presenter.presentOne(caller, environment);
  }

  @Delete('environments/:uid')
  @Authorize('environments:write', 'environment')
  @Audited('environment.deleted')
  @Operation({
    id: 'deleteEnvironment',
    summary: 'Delete an environment',
    description: 'Deletes its grants and links too. Runs that have not started fail with `environment_not_found`.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteEnvironment(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<void> {
    unwrap(await this.environments.delete(caller, uid), ENVIRONMENTS);
  }
}
