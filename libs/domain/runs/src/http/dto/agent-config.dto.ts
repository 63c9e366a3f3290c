import { HarnessConfigDto, McpServerConfigDto } from '#domain/agents';
import { SecretRefDto } from '#domain/environments';
import {
  ArrayField,
  BooleanField,
  EnumField,
  field,
  IntegerField,
  type Kind,
  listOf,
  MapField,
  mapOf,
  NumberField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { ApiSchema } from '@nestjs/swagger';

const OPTIONAL = { optional: true } as const;
const NO_EFFECT = 'Validated, stored and returned; has no effect yet.';

export class SessionSharing {
  @EnumField(['VIEWER', 'EDITOR'], {
    ...OPTIONAL,
    description: 'Access for all users with the link. It has no effect yet.',
  })
  public_access?: 'VIEWER' | 'EDITOR';
}

export class MemoryStore {
  @StringField({ blank: false, max: 256, description: 'UID of the memory store. It has no effect yet.' }) uid: string;
  @EnumField(['read_write', 'read_only'], { description: 'Access to the memory store. It has no effect yet.' }) access:
    | 'read_write'
    | 'read_only';
  @StringField({ max: 32_768, description: 'Instructions for using the memory store. They have no effect yet.' })
  instructions: string;
}

export class AwsInference {
  @BooleanField({ ...OPTIONAL, description: 'Whether inference through AWS is switched off. It has no effect yet.' })
  disabled?: boolean;
  @StringField({ ...OPTIONAL, max: 64, description: 'AWS region. It has no effect yet.' }) region?: string;
  @StringField({ ...OPTIONAL, max: 2048, description: 'ARN of the AWS role. It has no effect yet.' }) role_arn?: string;
}

export class InferenceProviders {
  @ObjectField(() => AwsInference, { ...OPTIONAL, description: 'Inference through AWS. It has no effect yet.' })
  aws?: AwsInference;
}

export class ListedMcpServer extends McpServerConfigDto {
  @StringField({ ...OPTIONAL, blank: false, max: 256, description: 'Name of the server.' }) name?: string;
}

const SERVER_MAP = mapOf(
  object(() => McpServerConfigDto),
  { maxEntries: 32 },
);
const SERVER_LIST = listOf(
  object(() => ListedMcpServer),
  { maxItems: 32 },
);
/** The document knows the map only, which is what responses have. */
const MCP_SERVERS: Kind = {
  schema: SERVER_MAP.schema,
  read: (raw, source) => (Array.isArray(raw) ? SERVER_LIST : SERVER_MAP).read(raw, source),
  check: (value) => (Array.isArray(value) ? SERVER_LIST : SERVER_MAP).check(value),
};

/** Configuration of the agent; unknown keys are refused by name. */
@ApiSchema({ name: 'RunRepository' })
export class RunRepositoryDto {
  @StringField({
    max: 2048,
    pattern: /^https?:\/\/[^\s/?#@]+\/[\w./-]+$/i,
    says: 'an http URL without user, password and query',
    description: 'Address of the repository, with or without `.git`.',
    example: 'https://github.com/acme/service',
  })
  url: string;
  @StringField({
    ...OPTIONAL,
    max: 255,
    blank: false,
    description: 'Branch, tag or commit; default: that of the environment, or the default branch.',
  })
  ref?: string;
}

export class AmbientAgentConfig {
  @StringField({
    ...OPTIONAL,
    max: 256,
    description: 'Label for grouping and filtering; the name of the skill when the configuration is that of a skill.',
  })
  name?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 256, description: 'ID of the model.' }) model_id?: string;
  @StringField({ ...OPTIONAL, maxBytes: 262_144, description: 'Shapes the agent’s behaviour; put before the prompt.' })
  base_prompt?: string;
  @StringField({
    ...OPTIONAL,
    pattern: /^[A-Za-z0-9]{22}$/,
    says: 'exactly 22 letters or digits',
    description: 'UID of the environment in which the run is prepared.',
  })
  environment_id?: string;
  @ObjectField(() => RunRepositoryDto, {
    ...OPTIONAL,
    description:
      'A repository for the workspace: an entry of the environment, or one that a pattern there (`*`) contains.',
  })
  repository?: RunRepositoryDto;
  @StringField({ ...OPTIONAL, blank: false, max: 256, description: NO_EFFECT }) runner_id?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 256,
    description:
      'A self-hosted worker; absent or `warp` = hosted workers. No other name that begins with `warp`, in any case, is taken.',
  })
  worker_host?: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 1024,
    pattern: /^[^\s:]*:\S.*$/,
    says: '`owner/repo:skill-name` or `owner/repo:path/to/SKILL.md`',
    description: 'Skill that the agent follows: `owner/repo:skill`, `repo:skill` or `:path`.',
  })
  skill_spec?: string;
  @ArrayField(text({ blank: false, max: 1024 }), {
    ...OPTIONAL,
    minItems: 1,
    maxItems: 16,
    description: 'Instead of skill_spec.',
  })
  skills?: string[];
  @field(MCP_SERVERS, {
    ...OPTIONAL,
    description:
      'MCP servers by name; each has exactly one of warp_id, command and url. A request may also send a list, whose entries have a `name` or are called `server-1`, `server-2` and so on by their position.',
  })
  mcp_servers?: Record<string, McpServerConfigDto> | ListedMcpServer[];
  @ObjectField(() => HarnessConfigDto, { ...OPTIONAL, description: 'The coding agent, and how it is started.' })
  harness?: HarnessConfigDto;
  @MapField(text({ blank: false, max: 256 }), {
    ...OPTIONAL,
    maxEntries: 32,
    keyPattern: /^[a-z0-9_-]{1,64}_auth_secret_name$/,
    keySays: '`<harness>_auth_secret_name`',
    description: 'Names of managed secrets.',
  })
  harness_auth_secrets?: Record<string, string>;
  @ArrayField(object(() => SecretRefDto), {
    ...OPTIONAL,
    maxItems: 100,
    description:
      'Managed secrets of the team, by name, beside those of the environment and of the agent identity. They become environment variables of set-up commands and agent: of the same name, `_` for each dot and hyphen. They win over variables of the environment.',
  })
  secrets?: SecretRefDto[];
  @IntegerField({
    ...OPTIONAL,
    min: 0,
    max: 60,
    description:
      'Minutes a session stays open after its turn; 0: it is closed as soon as its turn has ended. Default: 10.',
  })
  idle_timeout_minutes?: number;
  @BooleanField({ ...OPTIONAL, description: NO_EFFECT }) computer_use_enabled?: boolean;
  @StringField({ ...OPTIONAL, max: 256, description: NO_EFFECT }) computer_use_model_id?: string;
  @ObjectField(() => SessionSharing, { ...OPTIONAL, description: NO_EFFECT }) session_sharing?: SessionSharing;
  @ArrayField(object(() => MemoryStore), { ...OPTIONAL, maxItems: 32, description: NO_EFFECT })
  memory_stores?: MemoryStore[];
  @ObjectField(() => InferenceProviders, { ...OPTIONAL, description: NO_EFFECT })
  inference_providers?: InferenceProviders;
  @EnumField(['CREATOR', 'EXECUTOR'], { ...OPTIONAL, nullable: true, description: NO_EFFECT }) credential_strategy?:
    | 'CREATOR'
    | 'EXECUTOR'
    | null;
  @EnumField(['allow', 'deny', 'ask', 'allow_list'], {
    ...OPTIONAL,
    description: 'Default: ask when the run is interactive, else allow.',
  })
  permission_policy?: 'allow' | 'deny' | 'ask' | 'allow_list';
  @ArrayField(text({ blank: false, max: 1024 }), {
    ...OPTIONAL,
    maxItems: 256,
    description:
      'Names or kinds of tools, or `command:<start of a command line>`. It applies with the policy allow_list.',
  })
  permission_allow_list?: string[];
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: 10_080,
    description:
      'Minutes that a permission request or a question waits for a person before it is denied. Default: as the service is set up.',
  })
  approval_timeout_minutes?: number;
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: 44_640,
    description: 'Minutes that the agent may work over all turns; time that it waits for a person does not count.',
  })
  max_runtime_minutes?: number;
  @NumberField({
    ...OPTIONAL,
    min: 0,
    max: 1_000_000_000,
    description: 'Maximum cost in US dollars over all turns, as the agent reports it.',
  })
  max_cost_usd?: number;
  @IntegerField({
    ...OPTIONAL,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Maximum number of tokens over all turns, as the agent reports them.',
  })
  max_tokens?: number;
  @EnumField(['fail', 'retry', 'resume'], {
    ...OPTIONAL,
    description: 'How the run continues when the worker that executes it is lost. Default: fail.',
  })
  on_worker_lost?: 'fail' | 'retry' | 'resume';
}
