import { Body, Controller, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, ProblemError } from '#platform/http';
import { EnvironmentLinksService } from '../application/environment-links.service.js';
import { EnvironmentItem } from './environment.dto.js';
import { EnvironmentPresenter } from './environment-presenter.js';
import { RedeemEnvironmentLinkRequest } from './environment-sharing.dto.js';

/** The token is in the body because paths are logged. */
@Controller('environments/links')
export class RedeemLinkController {
  constructor(
    private readonly links: EnvironmentLinksService,
    private readonly presenter: EnvironmentPresenter,
  ) {}

  @Post('redeem')
  @Authorize('environments:read')
  @Operation({
    id: 'redeemEnvironmentLink',
    summary: 'Redeem an environment link',
    description:
      'From then on it is in your list and your runs may work in it, until the link is revoked. A link that is unknown, has expired, was revoked or has been used up is a 404, the same for all. For people: a service account uses what its team was granted.',
    tag: 'Environments',
    request: { value: { token: 'hrl_' }, fill: '`token` by the one of a link' },
    success: { status: 200, description: 'The environment.', type: EnvironmentItem },
    errors: [400, 403, 404, 413, 415],
  })
  async redeemLink(
    @CurrentCaller() caller: Caller,
    @Body() { token }: RedeemEnvironmentLinkRequest,
  ): Promise<EnvironmentItem> {
    const result = await this.links.redeem(caller, token.trim());
    switch (result.kind) {
      case 'redeemed':
        return this.presenter.presentOne(caller, result.environment);
      case 'link_not_found':
        throw new ProblemError('resource_not_found', 'Link not found, expired or revoked.');
      case 'not_a_person':
        throw new ProblemError('not_authorized', 'Links are for people: have the environment granted to your team.');
    }
  }
}
