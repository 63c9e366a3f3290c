import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError } from '#platform/http';
import { GrantEnvironment, ListGrants, RevokeGrant } from '../application/environment-grants.js';
import { environmentRefusal, invalidFields } from './environment-refusals.js';
import {
  EnvironmentGrantItem,
  GrantEnvironmentRequest,
  ListEnvironmentGrantsResponse,
} from './environment-sharing.dto.js';
import { readGrantee } from './grantee-input.js';
import { SharingPresenter } from './sharing-presenter.js';

const TAG = 'Environments';

/** Reading suffices at the door: who may share depends on whose environment it is, and one's own needs no role. */
@Controller('environments/:uid/grants')
export class EnvironmentGrantsController {
  constructor(
    private readonly grant: GrantEnvironment,
    private readonly list: ListGrants,
    private readonly revoke: RevokeGrant,
    private readonly presenter: SharingPresenter,
  ) {}

  @Post()
  @Authorize('environments:read')
  @Operation({
    id: 'grantEnvironment',
    summary: 'Create an environment grant',
    description:
      'They see it, with values of `env` masked, and have runs work in it; those runs do get the values. Done again for the same person or team it answers the same grant. At most 100. Needs the role admin or owner on its team; a personal one is shared by its owner.',
    tag: TAG,
    request: {
      value: { user_email: 'colleague@example.com' },
      fill: '`user_email` by the address of a user of this installation',
    },
    success: { status: 201, description: 'The grant.', type: EnvironmentGrantItem },
    errors: [400, 403, 'limit_reached', 404, 413, 415],
  })
  async grantEnvironment(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: GrantEnvironmentRequest,
  ): Promise<EnvironmentGrantItem> {
    const { pointer, named } = readGrantee(body);
    const result = await this.grant.execute(caller, uid, named);
    switch (result.kind) {
      case 'granted':
        return this.presenter.presentGrant(result.grant);
      case 'unknown_grantee':
        throw invalidFields([
          { pointer, detail: `names no ${pointer === '/team_uid' ? 'team' : 'person'} of this service` },
        ]);
      case 'is_owner':
        throw invalidFields([{ pointer, detail: 'names whom the environment belongs to' }]);
      case 'limit_reached':
        throw new ProblemError('limit_reached', `An environment has at most ${result.limit} grants.`);
      case 'unknown':
      case 'not_yours':
        throw environmentRefusal(result);
    }
  }

  @Get()
  @Authorize('environments:read')
  @Operation({
    id: 'listEnvironmentGrants',
    summary: 'List environment grants',
    description: 'Oldest first. All of them for those who may grant; a guest sees those that they may give up.',
    tag: TAG,
    success: { status: 200, description: 'The grants.', type: ListEnvironmentGrantsResponse },
    errors: [400, 403, 404],
  })
  async listGrants(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<ListEnvironmentGrantsResponse> {
    const result = await this.list.execute(caller, uid);
    if (result.kind !== 'found') throw environmentRefusal(result);
    return { grants: await this.presenter.presentGrants(result.grants) };
  }

  @Delete(':grantUid')
  @Authorize('environments:read')
  @Operation({
    id: 'revokeEnvironmentGrant',
    summary: 'Revoke an environment grant',
    description:
      'From then on no run can be created by it, and queued or continued ones that need it fail when they are about to begin. Executions that have begun go on. For those who may grant, for the person who has it, and for admins and owners of the team that has it.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async revokeGrant(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Param('grantUid', pathId('uid')) grantUid: string,
  ): Promise<void> {
    const result = await this.revoke.execute(caller, uid, grantUid);
    switch (result.kind) {
      case 'revoked':
        return;
      case 'unknown_grant':
        throw new ProblemError('resource_not_found', 'The environment has no grant with this uid.');
      case 'unknown':
      case 'not_yours':
        throw environmentRefusal(result);
    }
  }
}
