import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, optionalBody, pathId, ProblemError } from '#platform/http';
import { CreateLink, ListLinks, RevokeLink } from '../application/environment-links.js';
import { environmentRefusal, invalidFields } from './environment-refusals.js';
import {
  CreatedEnvironmentLink,
  CreateEnvironmentLinkRequest,
  ListEnvironmentLinksResponse,
} from './environment-sharing.dto.js';
import { SharingPresenter } from './sharing-presenter.js';

const TAG = 'Environments';

optionalBody(CreateEnvironmentLinkRequest);

/** Reading suffices at the door: who may share depends on whose environment it is, and one's own needs no role. */
@Controller('environments/:uid/links')
export class EnvironmentLinksController {
  constructor(
    private readonly create: CreateLink,
    private readonly list: ListLinks,
    private readonly revoke: RevokeLink,
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
    const result = await this.create.execute(caller, uid, {
      expiresAt: expiresAt ?? null,
      maxUses: maxUses ?? null,
    });
    switch (result.kind) {
      case 'created':
        return this.presenter.presentCreated(result.link, result.token);
      case 'already_expired':
        throw invalidFields([{ pointer: '/expires_at', detail: 'must lie in the future' }]);
      case 'limit_reached':
        throw new ProblemError('limit_reached', `An environment has at most ${result.limit} links; revoke one first.`);
      case 'unknown':
      case 'not_yours':
        throw environmentRefusal(result);
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
    const result = await this.list.execute(caller, uid);
    if (result.kind !== 'found') throw environmentRefusal(result);
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
    const result = await this.revoke.execute(caller, uid, linkUid);
    switch (result.kind) {
      case 'revoked':
        return;
      case 'unknown_link':
        throw new ProblemError('resource_not_found', 'The environment has no link with this uid.');
      case 'unknown':
      case 'not_yours':
        throw environmentRefusal(result);
    }
  }
}
