import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidInput, limitReached, notFound, Operation, optionalBody, pathId } from '#platform/http';
import { EnvironmentLinksService } from '../application/environment-links.service.js';
import { environmentProblem } from './environment-problem.js';
import {
  CreatedEnvironmentLink,
  CreateEnvironmentLinkRequest,
  ListEnvironmentLinksResponse,
} from './environment-sharing.dto.js';
import { SharingPresenter } from './sharing-presenter.js';

const TAG = 'Environments';

optionalBody(CreateEnvironmentLinkRequest);

/** The service decides who may share: it depends on the owner of the environment, and a personal one needs no role. */
@Controller('environments/:uid/links')
export class EnvironmentLinksController {
  constructor(
    private readonly links: EnvironmentLinksService,
    private readonly presenter: SharingPresenter,
  ) {}

  @Post()
  @Authorize('environments:read')
  @Operation({
    id: 'createEnvironmentLink',
    summary: 'Create an environment link',
    description:
      'Whoever has the link and signs in gets to see the environment, with values of `env` masked, and to have runs work in it; those runs do get the values. At most 20 at a time. Needs the role admin or owner on its team; a personal one is shared by its owner.',
    tag: TAG,
    request: { value: { max_uses: 5 } },
    success: {
      status: 201,
      description: 'The link with its token, which is not shown again.',
      type: CreatedEnvironmentLink,
    },
    errors: [400, 403, 'limit_reached', 404, 413, 415],
  })
  @ApiBody({ type: CreateEnvironmentLinkRequest, required: false })
  async createLink(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { expires_at: expiresAt, max_uses: maxUses }: CreateEnvironmentLinkRequest,
  ): Promise<CreatedEnvironmentLink> {
    const result = await this.links.create(caller, uid, {
      expiresAt: expiresAt ?? null,
      maxUses: maxUses ?? null,
    });
    switch (result.kind) {
      case 'created':
        return this.presenter.presentCreated(result.link, result.token);
      case 'already_expired':
        throw invalidInput([{ pointer: '/expires_at', detail: 'must lie in the future' }]);
      case 'limit_reached':
        throw limitReached('An environment', result.limit, 'links');
      case 'not_found':
      case 'forbidden':
        throw environmentProblem(result);
    }
  }

  @Get()
  @Authorize('environments:read')
  @Operation({
    id: 'listEnvironmentLinks',
    summary: 'List environment links',
    description:
      'Oldest first, without their tokens; expired ones too. All of them for those who may share it; a guest sees those that they have come by.',
    tag: TAG,
    success: { status: 200, description: 'The links.', type: ListEnvironmentLinksResponse },
    errors: [400, 403, 404],
  })
  async listLinks(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<ListEnvironmentLinksResponse> {
    const result = await this.links.list(caller, uid);
    if (result.kind !== 'found') throw environmentProblem(result);
    return { links: await this.presenter.presentLinks(result.links) };
  }

  @Delete(':linkUid')
  @Authorize('environments:read')
  @Operation({
    id: 'revokeEnvironmentLink',
    summary: 'Revoke an environment link',
    description:
      'Nobody comes by it any more, and those who did lose what it gave them: no run can be created by it, and queued or continued ones that need it fail when they are about to begin. Executions that have begun go on. A guest who has come by it gives up their own access only; the link stays as it is.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async revokeLink(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Param('linkUid', pathId('uid')) linkUid: string,
  ): Promise<void> {
    const result = await this.links.revoke(caller, uid, linkUid);
    switch (result.kind) {
      case 'revoked':
        return;
      case 'link_not_found':
        throw notFound('link');
      case 'not_found':
      case 'forbidden':
        throw environmentProblem(result);
    }
  }
}
