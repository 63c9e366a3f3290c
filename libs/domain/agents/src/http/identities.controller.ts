import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { LargeList, Operation, pathId, type ResourceWords, unwrap } from '#platform/http';
import { IdentitiesService } from '../application/identities.service.js';
import { presentIdentity, toIdentityChanges } from './identity-mapper.js';
import {
  CreateAgentIdentityRequest,
  IdentityItem,
  ListAgentIdentitiesQuery,
  ListAgentIdentitiesResponse,
  UpdateAgentIdentityRequest,
} from './identity.dto.js';

const IDENTITY: ResourceWords = { noun: 'agent identity', plural: 'agent identities' };

@ApiTags('Agents')
@Controller('agent/identities')
export class IdentitiesController {
  constructor(private readonly identities: IdentitiesService) {}

  @Get()
  @Authorize('identities:read')
  @LargeList()
  @Operation({
    id: 'listAgentIdentities',
    summary: 'List agent identities',
    description:
      'Those of the team, by name; without the team header, of all teams of the caller. At most 1,000 and 8 MiB, without the largest ones of each team if there are more; these can be read by their UID. `prompt` holds the first 2,048 characters.',
    team: true,
    success: { status: 200, description: 'The agent identities.', type: ListAgentIdentitiesResponse },
    errors: [400, 403],
  })
  async listAgentIdentities(
    @CurrentCaller() caller: Caller,
    @Query() { factory_uid: factoryUid }: ListAgentIdentitiesQuery,
  ): Promise<ListAgentIdentitiesResponse> {
    return { agents: (await this.identities.list(caller, factoryUid)).map(presentIdentity) };
  }

  @Post()
  @Authorize('identities:manage')
  @Audited('agent_identity.created')
  @Operation({
    id: 'createAgentIdentity',
    summary: 'Create an agent identity',
    description:
      'An agent identity is a named agent: runs that name it in `agent_identity_uid` are executed by it and use its settings where the request contains none. It has a service account of the same UID, which can have tokens. A team can have at most 1,000.',
    team: true,
    request: { value: { name: 'reviewer', prompt: 'You review changes.' } },
    success: { status: 201, description: 'The agent identity.', type: IdentityItem },
    errors: [400, 403, 'limit_reached'],
  })
  async createAgentIdentity(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateAgentIdentityRequest,
  ): Promise<IdentityItem> {
    return presentIdentity(
      unwrap(await this.identities.create(caller, body.name, toIdentityChanges(body)), IDENTITY).identity,
    );
  }

  @Get(':uid')
  @Authorize('identities:read', 'agent identity')
  @Operation({
    id: 'getAgentIdentity',
    summary: 'Get an agent identity',
    success: { status: 200, description: 'The agent identity.', type: IdentityItem },
  })
  async getAgentIdentity(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<IdentityItem> {
    return presentIdentity(unwrap(await this.identities.get(caller, uid), IDENTITY).identity);
  }

  @Put(':uid')
  @Authorize('identities:manage', 'agent identity')
  @Audited('agent_identity.updated')
  @Operation({
    id: 'updateAgentIdentity',
    summary: 'Update an agent identity',
    description:
      'Absent and null fields keep their values; an empty text, list or object clears the field. Existing runs are not changed.',
    request: { value: { prompt: 'You review changes and suggest tests.' } },
    success: { status: 200, description: 'The updated agent identity.', type: IdentityItem },
  })
  async updateAgentIdentity(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: UpdateAgentIdentityRequest,
  ): Promise<IdentityItem> {
    return presentIdentity(
      unwrap(await this.identities.update(caller, uid, toIdentityChanges(body)), IDENTITY).identity,
    );
  }

  @Delete(':uid')
  @Authorize('identities:manage', 'agent identity')
  @Audited('agent_identity.deleted')
  @Operation({
    id: 'deleteAgentIdentity',
    summary: 'Delete an agent identity',
    description: 'Its tokens become invalid. Past runs keep its name.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteAgentIdentity(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    unwrap(await this.identities.delete(caller, uid), IDENTITY);
  }
}
