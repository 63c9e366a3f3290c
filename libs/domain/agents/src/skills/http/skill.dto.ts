import { ArrayField, BooleanField, DateTimeField, EnumField, object, ObjectField, StringField } from '#platform/http';

export class ListAgentsParameters {
  @StringField({
    optional: true,
    max: 201,
    description:
      'Returns only skills of this repository, `owner/repo`. Default: the skills of all environments that the caller may use.',
    example: 'acme/tools',
  })
  repo?: string;

  @BooleanField({ optional: true, description: 'Whether the repositories are fetched again first. Default: false.' })
  refresh?: boolean;

  @EnumField(['name', 'last_run'] as const, {
    optional: true,
    description: 'Default: `name`. `last_run`: those that ran last first, those that never did last.',
  })
  sort_by?: 'name' | 'last_run';

  @BooleanField({
    optional: true,
    description: 'Whether skills whose front matter cannot be parsed are included. Default: false.',
  })
  include_malformed_skills?: boolean;
}

export class SkillSourceItem {
  @StringField({ description: 'Owner of the repository; outside GitHub the last but one segment of its URL.' })
  owner: string;
  @StringField({ description: 'The repository’s name; `bundled` with the owner `headrace`: ships with Headrace.' })
  name: string;
  @StringField({ description: 'Within the repository.', example: '.agents/skills/review/SKILL.md' }) skill_path: string;
  @StringField({
    optional: true,
    description:
      'Host of the connected self-hosted worker on which the skill was found; absent: found in the repository.',
  })
  worker_host?: string;
}

export class SkillEnvironment {
  @StringField({ description: 'UID of the environment.' }) uid: string;
  @StringField({ description: 'Name of the environment.' }) name: string;
}

export class AgentVariant {
  @StringField({
    description:
      'Can be used as a skill spec; that of a skill found on a worker where the service can read its repository.',
    example: 'acme/tools:.agents/skills/review/SKILL.md',
  })
  id: string;

  @StringField({ description: 'Description of the skill.' }) description: string;
  @StringField({ description: 'The first 8,192 characters of the instructions; empty for skills found on workers.' })
  base_prompt: string;
  @StringField({ optional: true, description: 'What is wrong with it; only malformed ones have it.' }) error?: string;
  @DateTimeField({
    optional: true,
    nullable: true,
    description: 'Time of the last run that the caller may see; null if there is none.',
  })
  last_run_timestamp?: string | null;

  @ObjectField(() => SkillSourceItem, { description: 'Where the skill was found.' }) source: SkillSourceItem;
  @ArrayField(object(() => SkillEnvironment), {
    description: 'Environments that the caller may use and that have the repository.',
  })
  environments: SkillEnvironment[];
}

export class AgentItem {
  @StringField({ description: 'Name of the agent: the name of its skill.' }) name: string;
  @ArrayField(object(() => AgentVariant), {
    description: 'The skills of this name, one for each place where it was found.',
  })
  variants: AgentVariant[];
}

export class ListAgentsResponse {
  @ArrayField(object(() => AgentItem), { description: 'The agents, by name.' }) agents: AgentItem[];
}
