import { Body, Controller, Delete, Get, Param, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowAsAdministrator,
  Audited,
  Authorize,
  type Caller,
  CurrentCaller,
  isAllowed,
  type MembershipResult,
  MembersService,
  teamOf,
} from '#platform/auth';
import { Settings } from '#platform/config';
import { notFound, Operation, pathId, ProblemError } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import { ListMembersResponse, PageParameters, SetMemberRequest, UserMembership } from './dto/principals.dto.js';
import { pageOf } from './pages.js';
import { presentMember } from './presenters.js';

const UserUid = (): ParameterDecorator => Param('userUid', pathId('uid'));

@ApiTags('Administration')
@Controller('members')
export class MembersController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly members: MembersService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('members', settings);
  }

  @Get()
  @Authorize('members:read')
  @Operation({
    id: 'listMembers',
    summary: 'List team members',
    description: 'Members of the team with their roles, by e-mail address.',
    team: true,
    success: { status: 200, description: 'A page of members.', type: ListMembersResponse },
    errors: [400, 403],
  })
  async list(@CurrentCaller() caller: Caller, @Query() page: PageParameters): Promise<ListMembersResponse> {
    const teamUid = teamOf(caller);
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { teamUid },
      (after, limit) => this.members.list(teamUid, after?.[0] ?? null, limit),
      ({ email }) => [email],
    );
    return { members: items.map(presentMember), page_info };
  }

  @Put(':userUid')
  @Authorize('members:manage')
  @Audited('member.updated', { values: ['role'] })
  @Operation({
    id: 'putMember',
    summary: 'Create or update a team member',
    description:
      'Changes the role of a member. Only owners can make and remove owners, and a team keeps one. An administrator of the installation also adds a user; everybody else invites.',
    team: true,
    request: { value: { role: 'member' } },
    success: { status: 200, description: 'The membership.', type: UserMembership },
    errors: [400, 403, 404, 409],
  })
  async put(
    @CurrentCaller() caller: Caller,
    @UserUid() userUid: string,
    @Body() { role }: SetMemberRequest,
  ): Promise<UserMembership> {
    const teamUid = teamOf(caller);
    assertDone(await this.members.setRole({ teamUid, userUid, role }, caller.principal.tokenUid));
    return { team_uid: teamUid, role };
  }

  @Delete(':userUid')
  @Authorize('members:manage', 'membership')
  @Audited('member.deleted')
  @Operation({
    id: 'deleteMember',
    summary: 'Remove a team member',
    description:
      'The user keeps personal runs and other teams. Runs of the team stay with the team. Everybody can leave a team.',
    team: true,
    success: { status: 204, description: 'Removed.' },
    errors: [400, 403, 404, 409],
  })
  async delete(@CurrentCaller() caller: Caller, @UserUid() userUid: string): Promise<void> {
    const teamUid = teamOf(caller);
    const mayManage = isAllowed(caller, { teamUid, userUid: null }) || allowAsAdministrator(caller);
    if (!mayManage && userUid !== caller.principal.uid) assertDone({ kind: 'forbidden' });
    assertDone(await this.members.remove({ teamUid, userUid }, caller.principal.tokenUid));
  }
}

function assertDone({ kind }: MembershipResult): void {
  switch (kind) {
    case 'done':
      return;
    case 'unknown_team':
      throw notFound('team');
    case 'unknown_user':
      throw notFound('user');
    case 'not_a_member':
      throw notFound('member');
    case 'invitation_required':
      throw new ProblemError(
        'resource_not_found',
        'Member not found. Invite the user: only administrators of the installation add users without an invitation.',
      );
    case 'last_owner':
      throw new ProblemError('conflict', 'The user is the last owner of the team. Make another member an owner first.');
    case 'owner_required':
      throw new ProblemError('not_authorized', 'Only owners of the team can make and remove owners.');
    case 'forbidden':
      throw new ProblemError('not_authorized', 'Your role on the team does not allow this.');
  }
}
