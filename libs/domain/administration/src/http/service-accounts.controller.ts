import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Audited,
  Authorize,
  type Caller,
  CurrentCaller,
  isAllowed,
  ServiceAccountsService,
  teamOf,
} from '#platform/auth';
import { Settings } from '#platform/config';
import { forbidden, notFound, Operation, pathId, ProblemError } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import {
  CreateServiceAccountRequest,
  ListServiceAccountsResponse,
  PageParameters,
  ServiceAccountItem,
} from './dto/principals.dto.js';
import { pageOf } from './pages.js';
import { presentServiceAccount } from './presenters.js';

@ApiTags('Administration')
@Controller('service-accounts')
export class ServiceAccountsController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly accounts: ServiceAccountsService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('service-accounts', settings);
  }

  @Get()
  @Authorize('service_accounts:manage')
  @Operation({
    id: 'listServiceAccounts',
    summary: 'List service accounts',
    description: 'Service accounts of the team by name, with those of its agent identities.',
    team: true,
    success: { status: 200, description: 'A page of service accounts.', type: ListServiceAccountsResponse },
    errors: [400, 403],
  })
  async list(@CurrentCaller() caller: Caller, @Query() page: PageParameters): Promise<ListServiceAccountsResponse> {
    const teamUid = teamOf(caller);
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { teamUid },
      (after, limit) => this.accounts.list(teamUid, after && { name: after[0] ?? '', uid: after[1] ?? '' }, limit),
      ({ name, uid }) => [name, uid],
    );
    return { service_accounts: items.map(presentServiceAccount), page_info };
  }

  @Post()
  @Authorize('service_accounts:manage')
  @Audited('service_account.created')
  @Operation({
    id: 'createServiceAccount',
    summary: 'Create a service account',
    description:
      'A principal of the team that is not a person, with the permissions of a member. `createToken` creates its tokens.',
    team: true,
    request: { value: { name: 'deploy pipeline' } },
    success: { status: 201, description: 'The service account.', type: ServiceAccountItem },
    errors: [400, 403],
  })
  async create(
    @CurrentCaller() caller: Caller,
    @Body() { name }: CreateServiceAccountRequest,
  ): Promise<ServiceAccountItem> {
    const result = await this.accounts.create({ teamUid: teamOf(caller), name });
    if (result.kind === 'unknown_team') throw notFound('team');
    return presentServiceAccount(result.serviceAccount);
  }

  @Delete(':uid')
  @Authorize('service_accounts:manage', 'service account')
  @Audited('service_account.deleted')
  @Operation({
    id: 'deleteServiceAccount',
    summary: 'Delete a service account',
    description:
      'Revokes its tokens. Runs that it has created are kept. The account of an agent identity is deleted with the identity.',
    success: { status: 204, description: 'Deleted.' },
    errors: [400, 403, 404, 409],
  })
  async delete(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const account = await this.accounts.find(uid);
    if (!account) throw notFound('service account');
    if (!isAllowed(caller, { teamUid: account.teamUid, userUid: null })) throw forbidden('service account');
    if (account.isAgentIdentity)
      throw new ProblemError('conflict', 'The account belongs to an agent identity: delete the agent identity.');
    await this.accounts.delete(uid);
  }
}
