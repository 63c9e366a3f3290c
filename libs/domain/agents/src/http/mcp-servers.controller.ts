import { Body, Controller, Delete, Get, Param, Post, Put } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, rejectionProblem } from '#platform/http';
import { McpServersService } from '../application/mcp-servers.service.js';
import type { McpServerConfig, ServerFields } from '../domain/mcp-server.js';
import { presentServer } from './identity-mapper.js';
import { ListMcpServersResponse, McpServerItem, McpServerRequest } from './mcp-server.dto.js';
import { MCP_SERVER } from './resource-words.js';

const TAG = 'Agents';

@Controller('mcp-servers')
export class McpServersController {
  constructor(private readonly servers: McpServersService) {}

  @Get()
  @Authorize('mcp_servers:read')
  @Operation({
    id: 'listMcpServers',
    summary: 'List MCP servers',
    description:
      'Those of the team, by name; without the team header, of all teams of the caller, 1,000 at most. Values of `env` and `headers` come as `***`.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The MCP servers.', type: ListMcpServersResponse },
    errors: [403],
  })
  async listMcpServers(@CurrentCaller() caller: Caller): Promise<ListMcpServersResponse> {
    return { mcp_servers: (await this.servers.list(caller)).map(presentServer) };
  }

  @Post()
  @Authorize('mcp_servers:manage')
  @Operation({
    id: 'createMcpServer',
    summary: 'Create an MCP server',
    description:
      'Configurations of runs and agent identities of the team refer to it as `warp_id`, so that its credentials stand in one place. Whoever may start runs of the team can have an agent use the server, and by that read these credentials: register none that the whole team may not have. Exactly one of `command` (with `args` and `env`) and `url` (with `headers`). A team has at most 200. Needs the role admin or owner.',
    tag: TAG,
    team: true,
    request: { value: { name: 'issues', url: 'https://mcp.example.com/issues' } },
    success: { status: 201, description: 'The MCP server.', type: McpServerItem },
    errors: [400, 403, 'limit_reached', 413, 415],
  })
  async createMcpServer(@CurrentCaller() caller: Caller, @Body() body: McpServerRequest): Promise<McpServerItem> {
    const result = await this.servers.create(caller, toFields(body));
    if (result.kind !== 'created') throw rejectionProblem(result, MCP_SERVER);
    return presentServer(result.server);
  }

  @Get(':uid')
  @Authorize('mcp_servers:read')
  @Operation({
    id: 'getMcpServer',
    summary: 'Get an MCP server',
    tag: TAG,
    success: { status: 200, description: 'The MCP server.', type: McpServerItem },
    errors: [400, 403, 404],
  })
  async getMcpServer(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<McpServerItem> {
    const lookup = await this.servers.get(caller, uid, 'mcp_servers:read');
    if (lookup.kind !== 'found') throw rejectionProblem(lookup, MCP_SERVER);
    return presentServer(lookup.server);
  }

  // The service checks the role on the team of the server; the guard knows only the team of the request.
  @Put(':uid')
  @Authorize('mcp_servers:read')
  @Operation({
    id: 'updateMcpServer',
    summary: 'Update an MCP server',
    description:
      'All of it: what is left out is gone. A value `***` in `env` or `headers` keeps the stored one, as long as `command` and `args`, or `url`, stay the same and no other value of the two is given; to add or change one, send all values again. Needs the role admin or owner.',
    tag: TAG,
    request: { value: { name: 'issues', url: 'https://mcp.example.com/v2/issues' } },
    success: { status: 200, description: 'The MCP server as it is now.', type: McpServerItem },
    errors: [400, 403, 404, 413, 415],
  })
  async updateMcpServer(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: McpServerRequest,
  ): Promise<McpServerItem> {
    const result = await this.servers.update(caller, uid, toFields(body));
    if (result.kind !== 'updated') throw rejectionProblem(result, MCP_SERVER);
    return presentServer(result.server);
  }

  @Delete(':uid')
  @Authorize('mcp_servers:read')
  @Operation({
    id: 'deleteMcpServer',
    summary: 'Delete an MCP server',
    description:
      'Configurations that still refer to it are refused for new runs until they are changed. Needs the role admin or owner.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteMcpServer(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const result = await this.servers.delete(caller, uid);
    if (result.kind !== 'deleted') throw rejectionProblem(result, MCP_SERVER);
  }
}

function toFields({ name, description, command, args, url, env, headers }: McpServerRequest): ServerFields {
  const config: McpServerConfig = {
    ...(command !== undefined && { command }),
    ...(args !== undefined && { args }),
    ...(url !== undefined && { url }),
    ...(env !== undefined && { env }),
    ...(headers !== undefined && { headers }),
  };
  return { name, description: description || null, config };
}
