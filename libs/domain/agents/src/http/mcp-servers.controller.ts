import { Body, Controller, Delete, Get, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { LargeList, Operation, pathId, type ResourceWords, unwrap } from '#platform/http';
import { McpServersService } from '../application/mcp-servers.service.js';
import { maskSecrets, type RegisteredServer, type ServerFields } from '../domain/mcp-server.js';
import { ListMcpServersResponse, McpServerItem, McpServerRequest } from './mcp-server.dto.js';

const MCP_SERVER: ResourceWords = { noun: 'MCP server', plural: 'MCP servers' };

@ApiTags('Agents')
@Controller('mcp-servers')
export class McpServersController {
  constructor(private readonly servers: McpServersService) {}

  @Get()
  @Authorize('mcp_servers:read')
  @LargeList()
  @Operation({
    id: 'listMcpServers',
    summary: 'List MCP servers',
    description:
      'The MCP servers of the team, by name. Without the team header those of all teams of the caller. At most 1,000 and 8 MiB, without the largest ones of each team if there are more; these can be read by their UID. Values of `env` and `headers` are returned as `***`.',
    team: true,
    success: { status: 200, description: 'The MCP servers.', type: ListMcpServersResponse },
    errors: [403],
  })
  async listMcpServers(@CurrentCaller() caller: Caller): Promise<ListMcpServersResponse> {
    return { mcp_servers: (await this.servers.list(caller)).map(presentServer) };
  }

  @Post()
  @Authorize('mcp_servers:manage')
  @Audited('mcp_server.created')
  @Operation({
    id: 'createMcpServer',
    summary: 'Create an MCP server',
    description:
      'Configurations of runs and agent identities of the team refer to it as `warp_id`, so that its credentials are stored in one place. Every user who may start runs of the team can let an agent use the server, and can thereby read these credentials: register only credentials that the whole team may have. Exactly one of `command` (with `args` and `env`) and `url` (with `headers`). A team has at most 200.',
    team: true,
    request: { value: { name: 'issues', url: 'https://mcp.example.com/issues' } },
    success: { status: 201, description: 'The MCP server.', type: McpServerItem },
    errors: [400, 403, 'limit_reached'],
  })
  async createMcpServer(@CurrentCaller() caller: Caller, @Body() body: McpServerRequest): Promise<McpServerItem> {
    return presentServer(unwrap(await this.servers.create(caller, toFields(body)), MCP_SERVER).server);
  }

  @Get(':uid')
  @Authorize('mcp_servers:read', 'MCP server')
  @Operation({
    id: 'getMcpServer',
    summary: 'Get an MCP server',
    success: { status: 200, description: 'The MCP server.', type: McpServerItem },
  })
  async getMcpServer(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<McpServerItem> {
    return presentServer(unwrap(await this.servers.get(caller, uid), MCP_SERVER).server);
  }

  @Put(':uid')
  @Authorize('mcp_servers:manage', 'MCP server')
  @Audited('mcp_server.updated')
  @Operation({
    id: 'updateMcpServer',
    summary: 'Update an MCP server',
    description:
      'Replaces the whole server: omitted fields are removed. A value `***` in `env` or `headers` keeps the stored one, as long as `command` and `args`, or `url`, stay the same and no other value of the two is given; to add or change one, send all values again.',
    request: { value: { name: 'issues', url: 'https://mcp.example.com/v2/issues' } },
    success: { status: 200, description: 'The updated MCP server.', type: McpServerItem },
  })
  async updateMcpServer(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: McpServerRequest,
  ): Promise<McpServerItem> {
    return presentServer(unwrap(await this.servers.update(caller, uid, toFields(body)), MCP_SERVER).server);
  }

  @Delete(':uid')
  @Authorize('mcp_servers:manage', 'MCP server')
  @Audited('mcp_server.deleted')
  @Operation({
    id: 'deleteMcpServer',
    summary: 'Delete an MCP server',
    description: 'Configurations that still refer to it are rejected for new runs until they are changed.',
    success: { status: 204, description: 'Deleted.' },
  })
  async deleteMcpServer(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    unwrap(await this.servers.delete(caller, uid), MCP_SERVER);
  }
}

const toFields = ({ name, description, ...config }: McpServerRequest): ServerFields => ({
  name,
  description: description || null,
  config,
});

const presentServer = ({ uid, name, description, config, createdAt, updatedAt }: RegisteredServer): McpServerItem => ({
  uid,
  name,
  description: description ?? undefined,
  ...maskSecrets(config),
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
});
