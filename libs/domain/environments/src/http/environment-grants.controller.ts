import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidInput, limitReached, notFound, Operation, pathId } from '#platform/http';
import { EnvironmentGrantsService, type NamedGrantee } from '../application/environment-grants.service.js';
import { environmentProblem } from './environment-problem.js';
import {
  EnvironmentGrantItem,
  GrantEnvironmentRequest,
  ListEnvironmentGrantsResponse,
} from './environment-sharing.dto.js';
import { SharingPresenter } from './sharing-presenter.js';

const TAG = 'Environments';

/** The service decides who may share: it depends on the owner of the environment, and a personal one needs no role. */
@Controller('environments/:uid/grants')
export class EnvironmentGrantsController {
  constructor(
    private readonly grants: EnvironmentGrantsService,
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
    const result = await this.grants.create(caller, uid, named);
    switch (result.kind) {
      case 'granted':
        return this.presenter.presentGrant(result.grant);
      case 'unknown_grantee':
        throw invalidInput([
          { pointer, detail: `names no ${pointer === '/team_uid' ? 'team' : 'person'} of this service` },
        ]);
      case 'is_owner':
        throw invalidInput([{ pointer, detail: 'names the owner of the environment' }]);
      case 'limit_reached':
        throw limitReached('An environment', result.limit, 'grants');
      case 'not_found':
      case 'forbidden':
        throw environmentProblem(result);
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
    const result = await this.grants.list(caller, uid);
    if (result.kind !== 'found') throw environmentProblem(result);
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
    const result = await this.grants.revoke(caller, uid, grantUid);
    switch (result.kind) {
      case 'revoked':
        return;
      case 'grant_not_found':
        throw notFound('grant');
      case 'not_found':
      case 'forbidden':
        throw environmentProblem(result);
    }
  }
}

/** The grantee of a request, and the field that names it. Throws for a request that names no grantee, or several. */
function readGrantee(body: GrantEnvironmentRequest): { readonly pointer: string; readonly named: NamedGrantee } {
  const { user_uid: userUid, user_email: userEmail, team_uid: teamUid } = body;
  const given = [
    ...(userUid === undefined ? [] : [{ pointer: '/user_uid', named: { userUid } }]),
    ...(userEmail === undefined ? [] : [{ pointer: '/user_email', named: { userEmail: userEmail.trim() } }]),
    ...(teamUid === undefined ? [] : [{ pointer: '/team_uid', named: { teamUid } }]),
  ];
  const [only, ...others] = given;
  if (!only)
    throw invalidInput([{ pointer: '/user_uid', detail: 'is required, unless user_email or team_uid is given' }]);
  if (others.length > 0)
    throw invalidInput(
      others.map(({ pointer }) => ({ pointer, detail: 'must not be given together with another one' })),
    );
  return only;
}
