import { Body, Controller, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, CurrentPrincipal, INSTALLATION, type Principal, UsersService } from '#platform/auth';
import { Settings } from '#platform/config';
import { invalidInput, notFound, Operation, pathId, ProblemError } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import {
  CreateUserRequest,
  ListUsersParameters,
  ListUsersResponse,
  UpdateUserRequest,
  UserItem,
} from './dto/principals.dto.js';
import { pageOf } from './pages.js';
import { presentUser } from './presenters.js';

const notAdministrator = (): ProblemError =>
  new ProblemError('not_authorized', 'Only administrators of the installation may do this.');

const Uid = (): ParameterDecorator => Param('uid', pathId('uid'));

@ApiTags('Administration')
@Controller('users')
export class UsersController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly users: UsersService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('users', settings);
  }

  @Get()
  @Authorize('installation:manage', INSTALLATION)
  @Operation({
    id: 'listUsers',
    summary: 'List users',
    description: 'All users of the installation, by e-mail address. Only for administrators of the installation.',
    success: { status: 200, description: 'A page of users.', type: ListUsersResponse },
    errors: [400, 403],
  })
  async list(@Query() { query, ...page }: ListUsersParameters): Promise<ListUsersResponse> {
    const text = query ?? null;
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { text },
      (after, limit) => this.users.search({ text, afterEmail: after?.[0] ?? null, limit }),
      ({ email }) => [email],
    );
    return { users: items.map(presentUser), page_info };
  }

  @Post()
  @Authorize('installation:manage', INSTALLATION)
  @Audited('user.created', { values: ['is_administrator'] })
  @Operation({
    id: 'createUser',
    summary: 'Create a user',
    description: 'The user is on no team at first. Only for administrators of the installation.',
    request: { value: { email: 'ada@example.com', display_name: 'Ada' } },
    success: { status: 201, description: 'The user.', type: UserItem },
    errors: [400, 403, 409],
  })
  async create(@CurrentPrincipal() { tokenUid }: Principal, @Body() body: CreateUserRequest): Promise<UserItem> {
    const { email, display_name: displayName = email, is_administrator: isAdministrator = false } = body;
    const result = await this.users.create({ email, displayName, isAdministrator, credentialUid: tokenUid });
    switch (result.kind) {
      case 'created':
        return presentUser({ ...result.user, memberships: [] });
      case 'email_taken':
        throw new ProblemError('conflict', 'A user with this `email` exists already.');
      case 'forbidden':
        throw notAdministrator();
    }
  }

  @Get(':uid')
  @Authorize('installation:manage', INSTALLATION)
  @Operation({
    id: 'getUser',
    summary: 'Get a user',
    success: { status: 200, description: 'The user.', type: UserItem },
  })
  async get(@Uid() uid: string): Promise<UserItem> {
    const user = await this.users.find(uid);
    if (!user) throw notFound('user');
    return presentUser(user);
  }

  @Put(':uid')
  @Authorize('installation:manage', INSTALLATION)
  @Audited('user.updated', { values: ['display_name', 'is_disabled', 'is_administrator'] })
  @Operation({
    id: 'updateUser',
    summary: 'Update a user',
    description: 'Omitted fields keep their values. Only for administrators of the installation.',
    request: { value: { is_disabled: true } },
    success: { status: 200, description: 'The updated user.', type: UserItem },
    errors: [400, 403, 404, 409],
  })
  async update(
    @CurrentPrincipal() { tokenUid }: Principal,
    @Uid() uid: string,
    @Body() body: UpdateUserRequest,
  ): Promise<UserItem> {
    const { display_name: displayName, is_disabled: isDisabled, is_administrator: isAdministrator } = body;
    if (displayName === undefined && isDisabled === undefined && isAdministrator === undefined)
      throw invalidInput([{ pointer: '', detail: 'must have at least one field' }]);
    const changes = {
      ...(displayName !== undefined && { displayName }),
      ...(isDisabled !== undefined && { isDisabled }),
      ...(isAdministrator !== undefined && { isAdministrator }),
    };
    const result = await this.users.update(uid, changes, tokenUid);
    switch (result.kind) {
      case 'updated':
        return presentUser(result.user);
      case 'not_found':
        throw notFound('user');
      case 'forbidden':
        throw notAdministrator();
      case 'last_administrator':
        throw new ProblemError('conflict', 'The user is the last administrator of the installation.');
    }
  }
}
