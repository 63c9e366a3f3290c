import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authenticated, can, CurrentPrincipal, PERMISSIONS, type Principal, TeamsService } from '#platform/auth';
import { Operation } from '#platform/http';
import { CurrentPrincipalResponse } from './dto/principals.dto.js';

const MAX_TEAMS = 1000;

@ApiTags('Administration')
@Controller('me')
export class CurrentPrincipalController {
  constructor(private readonly teams: TeamsService) {}

  @Get()
  @Authenticated()
  @Operation({
    id: 'getCurrentPrincipal',
    summary: 'Get the current user or service account',
    description: 'Who the token authenticates, with teams, roles and permissions.',
    success: { status: 200, description: 'The principal.', type: CurrentPrincipalResponse },
    errors: [403],
  })
  async get(@CurrentPrincipal() principal: Principal): Promise<CurrentPrincipalResponse> {
    const { memberships } = principal;
    const uids = memberships.map(({ teamUid }) => teamUid);
    const teams = uids.length === 0 ? [] : await this.teams.search(uids, null, MAX_TEAMS);
    const names = new Map(teams.map(({ uid, name }) => [uid, name]));
    return {
      type: principal.type,
      uid: principal.uid,
      display_name: principal.displayName,
      ...(principal.email === undefined ? {} : { email: principal.email }),
      is_administrator: principal.isAdministrator === true,
      memberships: memberships.map(({ teamUid, role }) => ({
        team_uid: teamUid,
        team_name: names.get(teamUid) ?? '',
        role,
        permissions: PERMISSIONS.filter((permission) => can(role, permission)),
      })),
    };
  }
}
