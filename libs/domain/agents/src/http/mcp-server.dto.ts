import { ArrayField, DateTimeField, field, type Kind, MapField, object, StringField, text } from '#platform/http';

const OPTIONAL = { optional: true } as const;
const MASKED_VALUES =
  'Values are returned as `***`; the agents of runs receive them in clear text, so every user who may start such a run can read them.';

const serverUrl = {
  max: 2048,
  pattern: /^https?:\/\/\S+$/,
  says: 'an http or https URL',
  description: 'Address of an HTTP server.',
};
const command = { blank: false, max: 4096, description: 'Command of a stdio server.' };
const secrets = (maxEntries: number) => ({ ...OPTIONAL, maxEntries, description: MASKED_VALUES });

export class McpServerTarget {
  @StringField({ ...OPTIONAL, ...command }) command?: string;
  @ArrayField(text({ max: 8192 }), { ...OPTIONAL, maxItems: 256, description: 'Arguments of `command`.' })
  args?: string[];
  @StringField({ ...OPTIONAL, ...serverUrl }) url?: string;
  @MapField(text({ max: 32_768 }), secrets(256)) env?: Record<string, string>;
  @MapField(text({ max: 32_768 }), secrets(100)) headers?: Record<string, string>;
}

export class McpServerConfig extends McpServerTarget {
  @StringField({ ...OPTIONAL, max: 256, description: 'An MCP server registered for the team.' }) warp_id?: string;
}

const NAMED_MODEL = text({ blank: false, max: 256 });
/** Clients send an empty text for the model that the configuration or the harness decides on. */
const MODEL_ID: Kind = {
  ...NAMED_MODEL,
  schema: text({ max: 256 }).schema,
  read: (raw, source) => (raw === '' ? undefined : NAMED_MODEL.read(raw, source)),
};

export class HarnessConfig {
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 64,
    description: 'The agent to run; `oz` is the built-in one.',
    example: 'oz',
  })
  type?: string;
  @field(MODEL_ID, {
    ...OPTIONAL,
    description:
      'Model for this harness; wins over `model_id` of the configuration. Empty text means that none is set.',
  })
  model_id?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64, description: 'Reasoning level, in the terms of the harness.' })
  reasoning_level?: string;
}

export class McpServerRequest extends McpServerTarget {
  @StringField({
    blank: false,
    max: 200,
    description: 'Name that is unique in the team, without regard to case.',
    example: 'issues',
  })
  name: string;

  @StringField({ optional: true, nullable: true, max: 2000, description: 'Text for people.' }) description?:
    | string
    | null;
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
