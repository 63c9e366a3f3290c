import { ApiSchema } from '@nestjs/swagger';
import {
  ArrayField,
  BooleanField,
  DateTimeField,
  MapField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { HarnessConfig, McpServerConfig } from './mcp-server.dto.js';

const NO_EFFECT = 'Validated, stored and returned; has no effect yet.';
/** Absent and null say the same: nothing about this field. */
const OPEN = { optional: true, nullable: true } as const;

export class IdentitySecret {
  @StringField({ blank: false, max: 200, description: 'Name of a managed secret.' }) name: string;
}

export class AutoMemory {
  @BooleanField({ description: 'Whether memories are written automatically. It has no effect yet.' })
  enabled: boolean;
}

export class IdentityMemoryInput {
  @ObjectField(() => AutoMemory, {
    optional: true,
    description: 'Automatic memory. It has no effect yet.',
  })
  auto_memory?: AutoMemory;
  @ArrayField(text(), { optional: true, maxItems: 0, description: 'There are no memory stores yet.' })
  attached_stores?: string[];
}

export class IdentityInput {
  @StringField({ ...OPEN, max: 2000, description: 'Text for people.' }) description?: string | null;

  @StringField({
    ...OPEN,
    maxBytes: 65_536,
    description: 'Base prompt of its runs. A list shows the first 2,048 characters.',
  })
  prompt?: string | null;

  @BooleanField({ ...OPEN, description: 'false: no new run may use it. Default: true.' }) available?: boolean | null;

  @StringField({
    ...OPEN,
    pattern: /^(?:[A-Za-z0-9]{22})?$/,
    says: 'exactly 22 letters or digits, or empty',
    description: 'An environment of the team.',
  })
  environment_id?: string | null;

  @StringField({ ...OPEN, max: 256, description: NO_EFFECT }) default_runner_uid?: string | null;
  @StringField({
    ...OPEN,
    max: 256,
    description:
      'A self-hosted worker; `warp` = hosted workers. No other name that begins with `warp`, in any case, is taken.',
  })
  worker_host?: string | null;
  @StringField({ ...OPEN, max: 256, description: 'Model of its runs.' }) base_model?: string | null;
  @ObjectField(() => HarnessConfig, { ...OPEN, description: 'Harness for runs that name none.' })
  harness?: HarnessConfig | null;
  @ArrayField(text({ blank: false, max: 1024 }), {
    ...OPEN,
    maxItems: 16,
    description: 'Skills of its runs, each `owner/repo:skill`, `repo:skill` or `:path`.',
  })
  skills?: string[] | null;

  @ArrayField(object(() => IdentitySecret), {
    ...OPEN,
    maxItems: 100,
    description:
      'Managed secrets of the team, by name; none that are for webhooks. Its runs get them as environment variables of set-up commands and agent: of the same name, `_` for each dot and hyphen. They win over variables of the environment. Values are those at the time when an execution starts.',
  })
  secrets?: IdentitySecret[] | null;

  @MapField(object(() => McpServerConfig), {
    ...OPEN,
    maxEntries: 32,
    description:
      'MCP servers by name; each has exactly one of warp_id, command and url. All together at most 65,536 bytes. A value `***` in `env` or `headers` keeps the stored one, as long as the server stays the same and no other value of the two is given; to add or change one, send all of its values again. Everybody who may start runs of the team can use these servers, and can thereby read the values.',
  })
  mcp_servers?: Record<string, McpServerConfig> | null;

  @ObjectField(() => IdentityMemoryInput, { ...OPEN, description: NO_EFFECT }) memory?: IdentityMemoryInput | null;
}

const NAME = {
  blank: false,
  max: 200,
  description: 'Name that is unique in the team, without regard to case. Shown as executor of its runs.',
  example: 'reviewer',
};

export class CreateAgentIdentityRequest extends IdentityInput {
  @StringField(NAME) name: string;
}

export class UpdateAgentIdentityRequest extends IdentityInput {
  @StringField({ ...NAME, ...OPEN }) name?: string | null;
}

export class IdentityMemory {
  @ObjectField(() => AutoMemory, { description: 'Automatic memory. It has no effect yet.' })
  auto_memory: AutoMemory;
  @ArrayField(text(), { description: 'Memory stores. Always empty.' })
  attached_stores: string[];
}

@ApiSchema({ name: 'AgentIdentity' })
export class IdentityItem {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    description: 'UID of the agent identity, and of the service account that executes its runs.',
    example: '1v3kqM0dQeXoWw2GqXbq7Z',
  })
  uid: string;

  @StringField({ description: 'Name of the agent identity, unique within the team.' }) name: string;
  @StringField({ optional: true, description: 'Text for people.' }) description?: string;
  @StringField({ optional: true, description: 'Instructions that precede the prompt of every run of this identity.' })
  prompt?: string;
  @BooleanField({ description: 'Whether new runs may use it.' }) available: boolean;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
  @StringField({ optional: true, description: 'UID of the environment for runs that name none.' })
  environment_id?: string;
  @StringField({ description: `UID of the default runner; empty if none is set. ${NO_EFFECT}` })
  default_runner_uid: string;
  @StringField({ optional: true, description: 'Worker host for runs that name none.' }) worker_host?: string;
  @StringField({ optional: true, description: 'Model for runs that name none.' }) base_model?: string;
  @ObjectField(() => HarnessConfig, { optional: true, description: 'Harness for runs that name none.' })
  harness?: HarnessConfig;
  @ArrayField(text(), { description: 'Skills of the identity.' }) skills: string[];
  @ArrayField(object(() => IdentitySecret), { description: 'Managed secrets that runs of this identity receive.' })
  secrets: IdentitySecret[];
  @MapField(object(() => McpServerConfig), {
    optional: true,
    description: 'MCP servers of the identity, by name. Secret values are masked.',
  })
  mcp_servers?: Record<string, McpServerConfig>;
  @ObjectField(() => IdentityMemory, { description: 'Memory of the identity. It has no effect yet.' })
  memory: IdentityMemory;
  @StringField({ optional: true, description: 'The factory whose definition it is part of.' }) factory_uid?: string;
}

export class ListAgentIdentitiesQuery {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    says: 'exactly 22 letters or digits',
    optional: true,
    description: 'Returns only the agent identities of the definition of this factory.',
  })
  factory_uid?: string;
}

export class ListAgentIdentitiesResponse {
  @ArrayField(object(() => IdentityItem), { description: 'The agent identities of the team.' })
  agents: IdentityItem[];
}
