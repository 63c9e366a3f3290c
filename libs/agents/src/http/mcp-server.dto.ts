import { ArrayField, DateTimeField, object, StringField } from '#libs/http';
import { McpServerTarget } from './agent-parts.dto.js';

export class McpServerRequest extends McpServerTarget {
  @StringField({ blank: false, max: 200, description: 'Unique in the team, whatever its case.', example: 'issues' })
  name: string;

  @StringField({ optional: true, nullable: true, max: 2000 }) description?: string | null;
}

export class McpServerItem extends McpServerTarget {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    description: 'What `warp_id` in a configuration refers to.',
    example: '1v3kqM0dQeXoWw2GqXbq7Z',
  })
  uid: string;

  @StringField() name: string;
  @StringField({ optional: true }) description?: string;
  @DateTimeField() created_at: string;
  @DateTimeField() updated_at: string;
}

export class ListMcpServersResponse {
  @ArrayField(object(() => McpServerItem)) mcp_servers: McpServerItem[];
}
