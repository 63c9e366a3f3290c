import { Body, Controller, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowAsAdministrator,
  Audited,
  Authorize,
  type Caller,
  CurrentCaller,
  INSTALLATION,
  isAllowed,
  MembersService,
  type Team,
  TeamsService,
  UsersService,
} from '#platform/auth';
import { Settings } from '#platform/config';
import { forbidden, invalidInput, notFound, Operation, pathId, ProblemError } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import {
  CreateTeamRequest,
  ListTeamsParameters,
  ListTeamsResponse,
  TeamItem,
  UpdateTeamRequest,
} from './dto/teams.dto.js';
import { pageOf } from './pages.js';
import { presentTeam } from './presenters.js';

const RESOURCE = 'addressed team';
const Uid = (): ParameterDecorator => Param('uid', pathId('uid'));

@ApiTags('Administration')
@Controller('teams')
export class TeamsController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly teams: TeamsService,
    private readonly members: MembersService,
    private readonly users: UsersService,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('teams', settings);
  }

  @Get()
  @Authorize('teams:read')
  @Operation({
    id: 'listTeams',
    summary: 'List teams',
    description: 'Your teams by name; with `all` those of the installation.',
    success: { status: 200, description: 'A page of teams.', type: ListTeamsResponse },
    errors: [400, 403],
  })
  async list(
    @CurrentCaller() { principal }: Caller,
    @Query() { all = false, ...page }: ListTeamsParameters,
  ): Promise<ListTeamsResponse> {
    if (all && principal.isAdministrator !== true)
      throw new ProblemError('not_authorized', '`all`: only administrators of the installation can list all teams.');
    const uids = all ? null : principal.memberships.map(({ teamUid }) => teamUid);
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { uids },
      (after, limit) => this.teams.search(uids, after && { name: after[0] ?? '', uid: after[1] ?? '' }, limit),
      ({ name, uid }) => [name, uid],
    );
    return { teams: items.map(presentTeam), page_info };
  }

  @Post()
  @Authorize('installation:manage', INSTALLATION)
  @Audited('team.created', { values: ['name', 'owner_uid', 'max_concurrent_runs'] })
  @Operation({
    id: 'createTeam',
    summary: 'Create a team',
    description: 'Only for administrators of the installation.',
    request: { value: { name: 'Payments' } },
    success: { status: 201, description: 'The team.', type: TeamItem },
    errors: [400, 403],
  })
  async create(@CurrentCaller() { principal }: Caller, @Body() request: CreateTeamRequest): Promise<TeamItem> {
    const { name, owner_uid: ownerUid = principal.uid, max_concurrent_runs: limit } = request;
    if (ownerUid !== principal.uid && !(await this.users.find(ownerUid)))
      throw invalidInput([{ pointer: '/owner_uid', detail: 'user not found' }]);
    const team = await this.teams.create({ name, ...(limit != null && { maxConcurrentRuns: limit }) });
    await this.members.setRole({ teamUid: team.uid, userUid: ownerUid, role: 'owner' });
    return presentTeam(team);
  }

  @Get(':uid')
  @Authorize('teams:read', RESOURCE)
  @Operation({
    id: 'getTeam',
    summary: 'Get a team',
    success: { status: 200, description: 'The team.', type: TeamItem },
  })
  async get(@CurrentCaller() caller: Caller, @Uid() uid: string): Promise<TeamItem> {
    return presentTeam(await this.find(caller, uid));
  }

  @Put(':uid')
  @Authorize('teams:manage', RESOURCE)
  @Audited('team.updated', {
    values: ['name', 'max_concurrent_runs', 'default_model_id', 'default_worker_host', 'features'],
  })
  @Operation({
    id: 'updateTeam',
    summary: 'Update a team',
    description: 'Omitted fields keep their values; null removes a value. Settings have an effect within a second.',
    request: { value: { default_model_id: 'claude-sonnet-4-5' } },
    success: { status: 200, description: 'The updated team.', type: TeamItem },
  })
  async update(
    @CurrentCaller() caller: Caller,
    @Uid() uid: string,
    @Body() body: UpdateTeamRequest,
  ): Promise<TeamItem> {
    await this.find(caller, uid);
    const { name, max_concurrent_runs: limit, default_model_id: model, default_worker_host: host, features } = body;
    if (limit !== undefined && caller.principal.isAdministrator !== true)
      throw new ProblemError(
        'not_authorized',
        '`max_concurrent_runs`: only administrators of the installation can set it.',
      );
    const result = await this.teams.update(uid, {
      ...(name !== undefined && { name }),
      ...(limit !== undefined && { maxConcurrentRuns: limit }),
      ...(model !== undefined && { defaultModelId: model }),
      ...(host !== undefined && { defaultWorkerHost: host }),
      ...(features !== undefined && { features }),
    });
    if (result.kind === 'unknown_team') throw notFound('team');
    return presentTeam(result.team);
  }

  /** Through the permission of the caller on it. Administrators of the installation have all permissions on teams. */
  private async find(caller: Caller, uid: string): Promise<Team> {
    const team = await this.teams.find(uid);
    if (!team) throw notFound('team');
    if (isAllowed(caller, { teamUid: uid, userUid: null }) || allowAsAdministrator(caller)) return team;
    throw forbidden('team');
  }
}
