import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowAsAdministrator,
  Audited,
  Authorize,
  type Caller,
  CurrentCaller,
  isAllowed,
  type Owner,
  type PrincipalRef,
  ServiceAccountsService,
  TokensService,
} from '#platform/auth';
import { Settings } from '#platform/config';
import { forbidden, invalidInput, limitReached, notFound, Operation, pathId } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import {
  CreateTokenRequest,
  CreateTokenResponse,
  ListTokensParameters,
  ListTokensResponse,
} from './dto/principals.dto.js';
import { pageOf } from './pages.js';
import { presentToken } from './presenters.js';

const RESOURCE = 'token';

@ApiTags('Administration')
@Controller('tokens')
export class TokensController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly tokens: TokensService,
    private readonly accounts: ServiceAccountsService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('tokens', settings);
  }

  @Get()
  @Authorize('tokens:manage', RESOURCE)
  @Operation({
    id: 'listTokens',
    summary: 'List tokens',
    description:
      'Your tokens, or those of a service account of your team, without revoked ones. The values of tokens are never returned.',
    success: { status: 200, description: 'A page of tokens.', type: ListTokensResponse },
    errors: [400, 403],
  })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListTokensParameters): Promise<ListTokensResponse> {
    const { service_account_uid, user_uid, ...page } = query;
    const owner = ownerOf(caller, { service_account_uid, user_uid });
    await this.assertAllowed(caller, owner);
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { owner },
      (after, limit) => this.tokens.page(owner, after?.[0] ?? null, limit),
      ({ uid }) => [uid],
    );
    return { tokens: items.map(presentToken), page_info };
  }

  @Post()
  @Authorize('tokens:manage', RESOURCE)
  @Audited('token.created', { values: ['name', 'expires_at', 'service_account_uid', 'user_uid'] })
  @Operation({
    id: 'createToken',
    summary: 'Create a token',
    description:
      'A token of yours, or of a service account or an agent identity of your team. `token` is returned only once. Service accounts cannot create tokens; administrators of the installation create those of all users. A user or a service account has at most 100 valid tokens.',
    request: { value: { name: 'laptop' } },
    success: { status: 201, description: 'The token.', type: CreateTokenResponse },
    errors: [400, 403, 'limit_reached', 404],
  })
  async create(@CurrentCaller() caller: Caller, @Body() request: CreateTokenRequest): Promise<CreateTokenResponse> {
    const { name, expires_at: expiresAt } = request;
    const owner = ownerOf(caller, request);
    await this.assertAllowed(caller, owner);
    const { tokenUid: createdWith } = caller.principal;
    const result = await this.tokens.create({ owner, name, createdWith, ...(expiresAt && { expiresAt }) });
    switch (result.kind) {
      case 'created':
        return { ...presentToken(result.record), token: result.token };
      case 'already_expired':
        throw invalidInput([{ pointer: '/expires_at', detail: 'must be in the future' }]);
      case 'unknown_owner':
        throw notFound(owner.type.replace('_', ' '));
      case 'limit_reached':
        throw limitReached(owner.type === 'user' ? 'A user' : 'A service account', result.limit, 'tokens');
    }
  }

  @Delete(':uid')
  @Authorize('tokens:manage', RESOURCE)
  @Audited('token.revoked')
  @Operation({
    id: 'revokeToken',
    summary: 'Revoke a token',
    description:
      'The token is rejected within a second. Administrators of the installation can revoke the tokens of all users.',
    success: { status: 204, description: 'Revoked.' },
  })
  async revoke(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const token = await this.tokens.find(uid);
    if (!token) throw notFound('token');
    await this.assertAllowed(caller, token.owner);
    await this.tokens.revoke({ tokenUid: uid });
  }

  /** A user on their tokens, a role on those of the service accounts of its team, an administrator on those of all users. */
  private async assertAllowed(caller: Caller, { type, uid }: PrincipalRef): Promise<void> {
    const account = type === 'user' ? null : await this.accounts.find(uid);
    // An account that does not exist is rejected like one that is not accessible.
    const owner: Owner =
      type === 'user' ? { teamUid: null, userUid: uid } : { teamUid: account?.teamUid ?? '', userUid: null };
    if (isAllowed(caller, owner) || (type === 'user' && allowAsAdministrator(caller))) return;
    throw forbidden('token');
  }
}

function ownerOf(
  { principal }: Caller,
  { service_account_uid: accountUid, user_uid: userUid }: Pick<CreateTokenRequest, 'service_account_uid' | 'user_uid'>,
): PrincipalRef {
  if (accountUid === undefined) return { type: 'user', uid: userUid ?? principal.uid };
  if (userUid === undefined) return { type: 'service_account', uid: accountUid };
  throw invalidInput([{ pointer: '/user_uid', detail: 'cannot be used together with `service_account_uid`' }]);
}
