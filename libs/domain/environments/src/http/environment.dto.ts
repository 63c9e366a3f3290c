import { ApiSchema } from '@nestjs/swagger';
import { RUN_STATES, type RunState } from '#execution/executions';
import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';

export class EnvironmentLastRun {
  @StringField({ description: 'The run’s id.' }) id: string;
  @StringField({ description: 'Title of the run.' }) title: string;
  @EnumField(RUN_STATES, { name: 'RunState', description: 'State of the run.' }) state: RunState;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
  @DateTimeField({
    optional: true,
    nullable: true,
    description: 'Time at which the agent was first started; null before that.',
  })
  started_at?: string | null;
}

const NO_EFFECT_YET = 'Stored and returned; has no effect yet.';

class RepositoryLoginFields {
  @StringField({
    blank: false,
    max: 128,
    optional: true,
    description: 'Managed secret of the team with the password, token or private key that opens the repository.',
  })
  secret_name?: string;

  @StringField({
    max: 256,
    pattern: /^[^\s\p{Cc}]+$/u,
    says: 'a user name without spaces',
    optional: true,
    description: 'Beside `secret_name`; `x-access-token` when absent.',
  })
  username?: string;

  @EnumField(['repository', 'token'], {
    optional: true,
    description:
      'Requests of `gh` and `glab` in runs that `secret_name` permits: those of the REST API about the repository (`repository`, the default), or GraphQL too, which reaches everything that the token can (`token`).',
  })
  api_access?: 'repository' | 'token';
}

export class GithubRepo extends RepositoryLoginFields {
  @StringField({
    pattern: /^[A-Za-z0-9-]{1,39}$/,
    says: 'the name of a GitHub account',
    description: 'User or organization on GitHub.',
  })
  owner: string;
  @StringField({
    pattern: /^(?:(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}|\*)$/,
    says: 'the name of a repository, or *',
    description: 'Name of the repository; `*`: any repository of the owner that a run names.',
  })
  repo: string;

  @IntegerField({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description:
      'ID of a GitHub App that is installed on the repository. `secret_name` is then its private key, with which the service requests access tokens.',
  })
  github_app_id?: number;
}

export class GitRepo extends RepositoryLoginFields {
  @StringField({
    max: 2048,
    pattern: /^(?:(?:https?|ssh|git|file):\/\/\S+|[\w.-]+@[\w.-]+:\S+|\/\S+)$/,
    says: 'a git URL that begins with https://, ssh://, git:// or file://, user@host:path, or an absolute path below GIT_LOCAL_ROOTS',
    example: 'https://git.example.com/team/service.git',
    description: 'Address of the repository; with `/*` at its end any repository below it that a run names.',
  })
  url: string;

  @StringField({
    max: 255,
    blank: false,
    optional: true,
    description: 'Branch, tag or commit; the default branch when absent.',
  })
  ref?: string;
}

export class SecretRef {
  @StringField({ blank: false, max: 200, description: 'Name of a managed secret of the team.' }) name: string;
}

export class AwsProvider {
  @StringField({ blank: false, max: 2048, description: 'ARN of the AWS role. It has no effect yet.' }) role_arn: string;
}

export class CloudProviders {
  @JsonField({
    optional: true,
    schema: { type: 'object', additionalProperties: true },
    description: 'Settings for Google Cloud. They have no effect yet.',
  })
  gcp?: Record<string, unknown>;
  @ObjectField(() => AwsProvider, { optional: true, description: 'Settings for AWS. They have no effect yet.' })
  aws?: AwsProvider;
}

@ApiSchema({ name: 'EnvironmentConfig' })
export class EnvironmentConfigDto {
  @StringField({
    blank: false,
    max: 200,
    optional: true,
    description: 'Name of the environment.',
    example: 'node-service',
  })
  name?: string;
  @StringField({ max: 2000, optional: true, nullable: true, description: 'Text for people.' }) description?:
    | string
    | null;
  @StringField({
    blank: false,
    max: 512,
    optional: true,
    description:
      'Image in which runs execute when the service uses the docker executor, which also has a default image; the process executor ignores it.',
  })
  docker_image?: string;
  @ArrayField(object(() => GithubRepo), {
    maxItems: 50,
    optional: true,
    description: 'Cloned before the set-up commands, from the default branch. A single repository is where they start.',
  })
  github_repos?: GithubRepo[];

  @ArrayField(text({ blank: false, max: 32_768 }), {
    maxItems: 100,
    optional: true,
    description:
      'Shell commands that prepare the workspace, one after the other; the first one that fails fails the run.',
    example: ['npm ci'],
  })
  setup_commands?: string[];

  @ArrayField(object(() => GitRepo), { maxItems: 50, optional: true, description: 'Repositories beyond GitHub.' })
  git_repos?: GitRepo[];

  @MapField(text({ maxBytes: 32_768 }), {
    maxEntries: 200,
    keyPattern: /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    keySays: 'a name of letters, digits and underscores that does not begin with a digit',
    optional: true,
    description: 'Environment variables of set-up commands and agent. Values are returned as `***`.',
    example: { NODE_ENV: '***' },
  })
  env?: Record<string, string>;

  @ArrayField(object(() => SecretRef), {
    maxItems: 100,
    optional: true,
    description:
      'Managed secrets of the team, which become environment variables of set-up commands and agent: of the same name, `_` for each dot and hyphen.',
  })
  secrets?: SecretRef[];

  @IntegerField({
    min: 1,
    max: 60,
    optional: true,
    nullable: true,
    description: 'How long a session whose set-up failed can be debugged; null switches it off.',
  })
  failure_session_retention_minutes?: number | null;
  @BooleanField({
    optional: true,
    description:
      'Executes the set-up commands also in a workspace whose files were restored from a snapshot, to create again what ignore rules exclude, such as `node_modules`. Default: false.',
  })
  setup_on_resume?: boolean;

  @ObjectField(() => CloudProviders, { optional: true, description: NO_EFFECT_YET }) providers?: CloudProviders;
}

export class CreateEnvironmentRequest {
  @ObjectField(() => EnvironmentConfigDto, { description: 'Contents of the environment.' })
  config: EnvironmentConfigDto;

  @BooleanField({
    optional: true,
    description:
      'Whether it belongs to the team. Default: true where the team is known (header, or only one); false makes it personal.',
  })
  team?: boolean;
}

export class ListEnvironmentsQuery {
  @EnumField(['name', 'last_updated'], {
    optional: true,
    default: 'last_updated',
    description: '`last_updated`: most recently updated first.',
  })
  sort_by?: 'name' | 'last_updated';
}

export class EnvironmentScope {
  @EnumField(['User', 'Team'], { description: 'Kind of owner.' }) type: 'User' | 'Team';
  @StringField({ optional: true, description: 'UID of the user or team that owns the environment.' }) uid?: string;
}

export class EnvironmentPrincipal {
  @EnumField(['user', 'service_account'], { optional: true, description: 'Kind of principal.' }) type?:
    | 'user'
    | 'service_account';
  @StringField({ optional: true, description: 'UID of the principal.' }) uid?: string;
  @StringField({ optional: true, description: 'Name shown to people.' }) display_name?: string;
  @StringField({ optional: true, description: 'E-mail address of a user.' }) email?: string;
  @StringField({ optional: true, description: 'Address of a picture. Not set by this service.' }) photo_url?: string;
}

export class EnvironmentItem {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    example: '1v3kqM0dQeXoWw2GqXbq7Z',
    description: 'UID of the environment.',
  })
  uid: string;
  @ObjectField(() => EnvironmentConfigDto, {
    description: 'Contents of the environment. Values of variables are masked.',
  })
  config: EnvironmentConfigDto;
  @DateTimeField({ description: 'Time of the last change.' }) last_updated: string;
  @BooleanField({ description: 'Whether the last set-up of it failed.' }) setup_failed: boolean;
  @DateTimeField({
    optional: true,
    nullable: true,
    description: 'When the last run in it was created, of those that you may read.',
  })
  last_task_run_timestamp?: string | null;

  @ObjectField(() => EnvironmentLastRun, { optional: true, description: 'The last run in it that you may read.' })
  last_task_created?: EnvironmentLastRun;

  @ObjectField(() => EnvironmentScope, { optional: true, description: 'Owner of the environment.' })
  scope?: EnvironmentScope;
  @ObjectField(() => EnvironmentPrincipal, { optional: true, description: 'Who created the environment.' })
  creator?: EnvironmentPrincipal;
  @ObjectField(() => EnvironmentPrincipal, { optional: true, description: 'Who changed the environment last.' })
  last_editor?: EnvironmentPrincipal;
}

export class ListEnvironmentsResponse {
  @ArrayField(object(() => EnvironmentItem), { description: 'The environments that the caller may use.' })
  environments: EnvironmentItem[];
}

export class UpdateEnvironmentRequest {
  @ObjectField(() => EnvironmentConfigDto, {
    description:
      'The whole configuration: fields that are absent are removed. `***` as a value of `env` keeps the stored one.',
  })
  config: EnvironmentConfigDto;
}
