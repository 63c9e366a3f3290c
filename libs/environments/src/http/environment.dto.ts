import { ApiSchema } from '@nestjs/swagger';
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
} from '#libs/http';

const NO_EFFECT_YET = 'Stored and returned; has no effect yet.';

export class GithubRepo {
  @StringField({ pattern: /^[A-Za-z0-9-]{1,39}$/, says: 'the name of a GitHub account' }) owner: string;
  @StringField({ pattern: /^[A-Za-z0-9._-]{1,100}$/, says: 'the name of a repository' }) repo: string;
}

export class GitRepo {
  @StringField({
    max: 2048,
    pattern: /^(?:(?:https?|ssh|git):\/\/\S+|[\w.-]+@[\w.-]+:\S+)$/,
    says: 'a git URL that begins with https://, ssh:// or git://, or user@host:path',
    example: 'https://git.example.com/team/service.git',
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
  @StringField({ blank: false, max: 200, description: 'Name of a managed secret.' }) name: string;
}

export class AwsProvider {
  @StringField({ blank: false, max: 2048 }) role_arn: string;
}

export class CloudProviders {
  @JsonField({ optional: true, schema: { type: 'object', additionalProperties: true } }) gcp?: Record<string, unknown>;
  @ObjectField(() => AwsProvider, { optional: true }) aws?: AwsProvider;
}

@ApiSchema({ name: 'EnvironmentConfig' })
export class EnvironmentConfigDto {
  @StringField({ blank: false, max: 200, optional: true, example: 'node-service' }) name?: string;
  @StringField({ max: 2000, optional: true, nullable: true }) description?: string | null;
  @StringField({ blank: false, max: 512, optional: true, description: NO_EFFECT_YET }) docker_image?: string;
  @ArrayField(object(() => GithubRepo), { maxItems: 50, optional: true, description: NO_EFFECT_YET })
  github_repos?: GithubRepo[];

  @ArrayField(text({ blank: false, max: 32_768 }), {
    maxItems: 100,
    optional: true,
    description:
      'Shell commands that prepare the workspace, one after the other; the first one that fails fails the run.',
    example: ['npm ci'],
  })
  setup_commands?: string[];

  @ArrayField(object(() => GitRepo), { maxItems: 50, optional: true, description: NO_EFFECT_YET })
  git_repos?: GitRepo[];

  @MapField(text({ maxBytes: 32_768 }), {
    maxEntries: 200,
    keyPattern: /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    keySays: 'a name of letters, digits and underscores that does not begin with a digit',
    optional: true,
    description: 'Environment variables of set-up commands and agent. Values come back as `***`.',
    example: { NODE_ENV: '***' },
  })
  env?: Record<string, string>;

  @ArrayField(object(() => SecretRef), { maxItems: 100, optional: true, description: NO_EFFECT_YET })
  secrets?: SecretRef[];

  @IntegerField({
    min: 1,
    max: 60,
    optional: true,
    nullable: true,
    description: 'How long a session whose set-up failed can be debugged; null switches it off. ' + NO_EFFECT_YET,
  })
  failure_session_retention_minutes?: number | null;

  @ObjectField(() => CloudProviders, { optional: true, description: NO_EFFECT_YET }) providers?: CloudProviders;
}

export class CreateEnvironmentRequest {
  @ObjectField(() => EnvironmentConfigDto) config: EnvironmentConfigDto;

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
  @EnumField(['User', 'Team']) type: 'User' | 'Team';
  @StringField({ optional: true }) uid?: string;
}

export class EnvironmentPrincipal {
  @EnumField(['user', 'service_account'], { optional: true }) type?: 'user' | 'service_account';
  @StringField({ optional: true }) uid?: string;
  @StringField({ optional: true }) display_name?: string;
  @StringField({ optional: true }) email?: string;
  @StringField({ optional: true }) photo_url?: string;
}

export class EnvironmentItem {
  @StringField({ pattern: /^[A-Za-z0-9]{22}$/, example: '1v3kqM0dQeXoWw2GqXbq7Z' }) uid: string;
  @ObjectField(() => EnvironmentConfigDto) config: EnvironmentConfigDto;
  @DateTimeField() last_updated: string;
  @BooleanField({ description: 'Whether the last set-up of it failed.' }) setup_failed: boolean;
  @ObjectField(() => EnvironmentScope, { optional: true }) scope?: EnvironmentScope;
  @ObjectField(() => EnvironmentPrincipal, { optional: true }) creator?: EnvironmentPrincipal;
  @ObjectField(() => EnvironmentPrincipal, { optional: true }) last_editor?: EnvironmentPrincipal;
}

export class ListEnvironmentsResponse {
  @ArrayField(object(() => EnvironmentItem)) environments: EnvironmentItem[];
}
