import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#libs/auth';
import { Operation, pathId, ProblemError } from '#libs/http';
import { CreateEnvironment } from '../application/create-environment.js';
import { DeleteEnvironment } from '../application/delete-environment.js';
import { FindEnvironment } from '../application/find-environment.js';
import { ListEnvironments } from '../application/list-environments.js';
import type { EnvironmentConfig } from '../domain/environment.js';
import {
  CreateEnvironmentRequest,
  EnvironmentItem,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
} from './environment.dto.js';
import { EnvironmentPresenter } from './environment-presenter.js';

const TAG = 'Environments';

@Controller()
export class EnvironmentsController {
  constructor(
    private readonly list: ListEnvironments,
    private readonly find: FindEnvironment,
    private readonly create: CreateEnvironment,
    private readonly remove: DeleteEnvironment,
    private readonly presenter: EnvironmentPresenter,
  ) {}

  @Get('agent/environments')
  @Authorize('environments:read')
  @Operation({
    id: 'listEnvironments',
    summary: 'List environments',
    description:
      'The environments that the caller owns and those of the team; without the team header, of all teams of the caller.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The environments.', type: ListEnvironmentsResponse },
    errors: [400, 403],
  })
  async listEnvironments(
    @CurrentCaller() caller: Caller,
    @Query() query: ListEnvironmentsQuery,
  ): Promise<ListEnvironmentsResponse> {
    const environments = await this.list.execute(caller, query.sort_by ?? 'last_updated');
    return { environments: await this.presenter.present(environments) };
  }

  // Reading suffices here and at delete: whether one may write depends on whose environment it is, and one's own needs no role.
  @Post('environments')
  @Authorize('environments:read')
  @Operation({
    id: 'createEnvironment',
    summary: 'Create an environment',
    description: 'Needs the role admin or owner on the team. A personal environment needs no role.',
    tag: TAG,
    team: true,
    success: { status: 201, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 413, 415],
  })
  async createEnvironment(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateEnvironmentRequest,
  ): Promise<EnvironmentItem> {
    const result = await this.create.execute(caller, { config: toConfig(body), team: body.team });
    switch (result.kind) {
      case 'created':
        return this.show(result.environment);
      case 'team_needed':
        throw new ProblemError(
          'invalid_request',
          'You are on several teams: pick one with the X-Headrace-Team-Uid header.',
          {
            errors: [{ pointer: '/team', detail: 'needs the team header' }],
          },
        );
      case 'not_authorized':
        throw new ProblemError('not_authorized', 'Your role on the team does not allow managing environments.');
    }
  }

  @Get('environments/:uid')
  @Authorize('environments:read')
  @Operation({
    id: 'getEnvironment',
    summary: 'Get an environment',
    tag: TAG,
    success: { status: 200, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 404],
  })
  async getEnvironment(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<EnvironmentItem> {
    const lookup = await this.find.execute(caller, uid, 'environments:read');
    if (lookup.kind !== 'found') throw refusal(lookup.kind);
    return this.show(lookup.environment);
  }

  @Delete('environments/:uid')
  @Authorize('environments:read')
  @Operation({
    id: 'deleteEnvironment',
    summary: 'Delete an environment',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteEnvironment(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const result = await this.remove.execute(caller, uid);
    if (result.kind !== 'deleted') throw refusal(result.kind);
  }

  private async show(environment: Parameters<EnvironmentPresenter['present']>[0][number]): Promise<EnvironmentItem> {
    const [item] = await this.presenter.present([environment]);
    if (!item) throw new Error('the presenter returns as many items as it is given');
    return item;
  }
}

/** A plain object: the DTO's prototype has no business in the store. */
const toConfig = ({ config }: CreateEnvironmentRequest): EnvironmentConfig =>
  JSON.parse(JSON.stringify(config)) as EnvironmentConfig;

const refusal = (kind: 'unknown' | 'not_yours'): ProblemError =>
  kind === 'unknown'
    ? new ProblemError('resource_not_found', 'There is no environment with this uid.')
    : new ProblemError('not_authorized', 'The environment is not yours, or your role does not allow this.');
