import { ArrayField, DateTimeField, object, StringField } from '#platform/http';
import { McpServerTarget } from './agent-parts.dto.js';

export class McpServerRequest extends McpServerTarget {
  @StringField({ blank: false, max: 200, description: 'Unique in the team, whatever its case.', example: 'issues' })
  name: string;

  @StringField({ optional: true, nullable: true, max: 2000, description: 'Text for people.' }) description?:
    string | null;
}

export class McpServerItem extends McpServerTarget {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    description: 'What `warp_id` in a configuration refers to.',
    example: '1v3kqM0dQeXoWw2GqXbq7Z',
  })
  uid: string;

  @StringField({ description: 'Name of the MCP server, unique within the team.' }) name: string;
  @StringField({ optional: true, description: 'Text for people.' }) description?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

export class ListMcpServersResponse {
  @ArrayField(object(() => McpServerItem), { description: 'The MCP servers of the team.' })
  mcp_servers: McpServerItem[];
}
