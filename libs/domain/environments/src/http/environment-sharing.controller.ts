import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { ApiBody, ApiExcludeController, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Audited, Authorize, type Caller, CurrentCaller, Public } from '#platform/auth';
import {
  invalidInput,
  Operation,
  optionalBody,
  OutsideApi,
  PageFiles,
  pathId,
  ProblemError,
  unwrap,
} from '#platform/http';
import { EnvironmentGrantsService } from '../application/environment-grants.service.js';
import { EnvironmentLinksService } from '../application/environment-links.service.js';
import { EnvironmentItem } from './environment.dto.js';
import { EnvironmentPresenter } from './environment-presenter.js';
import {
  CreatedEnvironmentLink,
  CreateEnvironmentLinkRequest,
  EnvironmentGrantItem,
  GrantEnvironmentRequest,
  ListEnvironmentGrantsResponse,
  ListEnvironmentLinksResponse,
  RedeemEnvironmentLinkRequest,
} from './environment-sharing.dto.js';
import { ENVIRONMENTS, Uid } from './environments.controller.js';

const GRANTS = { noun: 'grant', plural: 'grants', owner: 'An environment' };
const LINKS = { noun: 'link', plural: 'links', owner: 'An environment' };

optionalBody(CreateEnvironmentLinkRequest);

@ApiTags('Environments')
@Controller('environments')
export class EnvironmentSharingController {
  constructor(
    private readonly grants: EnvironmentGrantsService,
    private readonly links: EnvironmentLinksService,
    private readonly presenter: EnvironmentPresenter,
  ) {}

  // The token is in the body because paths are logged.
  @Post('links/redeem')
  @Authorize('environments:redeem', 'environment')
  @Audited('environment_link.redeemed')
  @Operation({
    id: 'redeemEnvironmentLink',
    summary: 'Redeem an environment link',
    description:
      'The environment is then in your list, and your runs can use it until the link is revoked. A link that is unknown, expired, revoked or used up is a 404. For people only: a service account uses what its team was granted.',
    request: { value: { token: 'hrl_' }, fill: '`token` by the one of a link' },
    success: { status: 200, description: 'The environment.', type: EnvironmentItem },
  })
  async redeemLink(
    @CurrentCaller() caller: Caller,
    @Body() { token }: RedeemEnvironmentLinkRequest,
  ): Promise<EnvironmentItem> {
    const result = await this.links.redeem(caller, token.trim());
    if (!('kind' in result)) return this.presenter.presentOne(caller, result);
    if (result.kind === 'not_found')
      throw new ProblemError('resource_not_found', 'Link not found, expired or revoked.');
    throw new ProblemError('not_authorized', 'Links are for people: have the environment granted to your team.');
  }

  @Post(':uid/grants')
  @Authorize('environments:write', 'environment')
  @Audited('environment_grant.created', { values: ['user_uid', 'team_uid', 'access'] })
  @Operation({
    id: 'grantEnvironment',
    summary: 'Create an environment grant',
    description:
      'The grantee can read the environment, with values of `env` masked, and use it in runs, which receive the values. Returns the existing grant if the grantee has one. At most 100 grants.',
    request: {
      value: { user_email: 'colleague@example.com' },
      fill: '`user_email` by the address of a user of this installation',
    },
    success: { status: 201, description: 'The grant.', type: EnvironmentGrantItem },
    errors: [400, 403, 'limit_reached', 404],
  })
  async grantEnvironment(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Body() { user_uid, user_email, team_uid }: GrantEnvironmentRequest,
  ): Promise<EnvironmentGrantItem> {
    const named = { user_uid, user_email, team_uid };
    assertOneGrantee(named);
    const grant = unwrap(await this.grants.create(caller, uid, named), { ...GRANTS, noun: ENVIRONMENTS.noun });
    return this.presenter.presentGrant(grant);
  }

  @Get(':uid/grants')
  @Authorize('environments:read', 'environment')
  @Operation({
    id: 'listEnvironmentGrants',
    summary: 'List environment grants',
    description: 'Oldest first. A guest sees only the grants that the guest may revoke.',
    success: { status: 200, description: 'The grants.', type: ListEnvironmentGrantsResponse },
  })
  async listGrants(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<ListEnvironmentGrantsResponse> {
    const grants = unwrap(await this.grants.list(caller, uid), ENVIRONMENTS);
    return { grants: await this.presenter.presentGrants(grants) };
  }

  @Delete(':uid/grants/:grantUid')
  @Authorize('environments:write', 'environment')
  @Audited('environment_grant.revoked')
  @Operation({
    id: 'revokeEnvironmentGrant',
    summary: 'Revoke an environment grant',
    description:
      'Runs that need the grant can no longer be created, and queued or continued ones fail before they start. Executions that have started continue. A user can also revoke a grant to that user, and an admin or owner of a team a grant to that team.',
    success: { status: 204, description: 'Deleted.' },
  })
  async revokeGrant(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Param('grantUid', pathId('uid')) grantUid: string,
  ): Promise<void> {
    unwrap(await this.grants.revoke(caller, uid, grantUid), GRANTS);
  }

  @Post(':uid/links')
  @Authorize('environments:write', 'environment')
  @Audited('environment_link.created')
  @Operation({
    id: 'createEnvironmentLink',
    summary: 'Create an environment link',
    description:
      'Every user who redeems the link can read the environment, with values of `env` masked, and use it in runs, which receive the values. At most 20 links.',
    request: { value: { max_uses: 5 } },
    success: {
      status: 201,
      description: 'The link with its token, which is returned only once.',
      type: CreatedEnvironmentLink,
    },
    errors: [400, 403, 'limit_reached', 404],
  })
  @ApiBody({ type: CreateEnvironmentLinkRequest, required: false })
  async createLink(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Body() { expires_at, max_uses }: CreateEnvironmentLinkRequest,
  ): Promise<CreatedEnvironmentLink> {
    const limits = { expiresAt: expires_at ?? null, maxUses: max_uses ?? null };
    const result = await this.links.create(caller, uid, limits);
    const { link, token } = unwrap(result, { ...LINKS, noun: ENVIRONMENTS.noun });
    return this.presenter.presentCreated(link, token);
  }

  @Get(':uid/links')
  @Authorize('environments:read', 'environment')
  @Operation({
    id: 'listEnvironmentLinks',
    summary: 'List environment links',
    description:
      'Oldest first, without their tokens; expired ones too. A guest sees only the links that the guest has redeemed.',
    success: { status: 200, description: 'The links.', type: ListEnvironmentLinksResponse },
  })
  async listLinks(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<ListEnvironmentLinksResponse> {
    const links = unwrap(await this.links.list(caller, uid), ENVIRONMENTS);
    return { links: await this.presenter.presentLinks(links) };
  }

  @Delete(':uid/links/:linkUid')
  @Authorize('environments:write', 'environment')
  @Audited('environment_link.revoked')
  @Operation({
    id: 'revokeEnvironmentLink',
    summary: 'Revoke an environment link',
    description:
      'The link can no longer be redeemed, and all access through it ends: runs that need it can no longer be created, and queued or continued ones fail before they start. Executions that have started continue. A guest who has redeemed the link ends only the own access; the link remains.',
    success: { status: 204, description: 'Deleted.' },
  })
  async revokeLink(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Param('linkUid', pathId('uid')) linkUid: string,
  ): Promise<void> {
    unwrap(await this.links.revoke(caller, uid, linkUid), LINKS);
  }
}

function assertOneGrantee(named: object): void {
  const [first, ...others] = Object.entries(named).filter(([, value]) => value !== undefined);
  if (!first)
    throw invalidInput([{ pointer: '/user_uid', detail: 'is required, unless user_email or team_uid is given' }]);
  const detail = 'must not be given together with another one';
  if (others.length > 0) throw invalidInput(others.map(([name]) => ({ pointer: `/${name}`, detail })));
}

/** The page behind links. It is the same for all of them: the token comes after the #, which no browser sends. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('environments')
export class SharedPageController {
  private readonly page = new PageFiles('shared', 'libs/domain/environments/assets');

  @Get('shared')
  show(@Res() response: Response): void {
    this.page.show(response);
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    this.page.asset(name, response);
  }
}
