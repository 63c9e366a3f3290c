import {
  ArrayField,
  DateTimeField,
  EnumField,
  IntegerField,
  object,
  ObjectField,
  PageInfo,
  StringField,
} from '#platform/http';
import { MAX_TICKET_REF_BYTES, MAX_TICKET_URL } from '../domain/ticket.js';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/ };
const TICKET_REF = { example: 'linear:ENG-42' };

export class FactoryScope {
  @EnumField(['Team'], { description: 'Kind of owner; always a team.' }) type: 'Team';
  @StringField({ ...UID, description: 'UID of the team.' }) uid: string;
}

export class FactoryItem {
  @StringField({ ...UID, description: 'UID of the factory.' }) uid: string;
  @StringField({ example: 'CI failures', description: 'Name of the factory.' }) name: string;
  @StringField({ description: 'Description of the factory; empty if there is none.' }) description: string;
  @StringField({ ...OPTIONAL, description: 'A short name, the factory’s alone within its team.' }) alias?: string;
  @ObjectField(() => FactoryScope, { description: 'The team that owns the factory.' }) scope: FactoryScope;
  @StringField({
    ...OPTIONAL,
    description: 'Name of the agent that gets what is dispatched; not there when the factory has no foreman.',
    example: 'foreman',
  })
  foreman_agent?: string;
  @StringField({ ...OPTIONAL, ...UID, description: 'The foreman’s agent identity.' }) foreman_agent_uid?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

const NAME = { blank: false, max: 200, description: 'Name of the factory.', example: 'CI failures' } as const;
const DESCRIPTION = { ...OPTIONAL, max: 2000, description: 'What the factory is for.' } as const;
const ALIAS = { ...OPTIONAL, blank: false, max: 64 } as const;

export class CreateFactoryRequest {
  @StringField(NAME) name: string;
  @StringField(DESCRIPTION) description?: string;
  @StringField({ ...ALIAS, description: 'A short second name that no other factory of the team has.' }) alias?: string;
}

export class UpdateFactoryRequest {
  @StringField({ ...NAME, ...OPTIONAL }) name?: string;
  @StringField(DESCRIPTION) description?: string;
  @StringField({
    ...ALIAS,
    nullable: true,
    description: 'A short second name that no other factory of the team has; null removes it.',
  })
  alias?: string | null;
}

export class ListFactoriesParameters {
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 200,
    description: 'Returns only factories with this text in their name, alias or description. The case is ignored.',
  })
  query?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 200, description: 'The same as `query`.' })
  search?: string;
  @IntegerField({ ...OPTIONAL, min: 1, max: 500, default: 100, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
}

export class ListFactoriesResponse {
  @ArrayField(object(() => FactoryItem), { description: 'The factories, by name.' }) factories: FactoryItem[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

export class DispatchFactoryRunRequest {
  @StringField({
    blank: false,
    description: 'What is to be done; at most 1 MiB of UTF-8.',
    example: 'Find out why the nightly build fails.',
  })
  prompt: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512, description: 'Default: the first line of the prompt.' })
  title?: string;
  @StringField({
    ...OPTIONAL,
    ...TICKET_REF,
    maxBytes: MAX_TICKET_REF_BYTES,
    description:
      'What the work is about, as `<source>:<id>`. If absent, a reference with the source `adhoc` is generated.',
  })
  ticket_ref?: string;
  @StringField({ ...OPTIONAL, max: MAX_TICKET_URL, description: 'Where people read the ticket: http or https.' })
  ticket_url?: string;
}

export class DispatchFactoryRunResponse {
  @StringField({ ...UID, description: 'UID of the factory.' }) factory_uid: string;
  @StringField({
    description:
      'Name of the agent that works on it: `foreman`; in a factory without one, the harness that works with the factory’s defaults, such as `oz`.',
    example: 'foreman',
  })
  foreman_agent: string;
  @StringField({ description: 'Id of the run, which has the same operations as any other run.' }) run_id: string;
  @StringField({ example: 'QUEUED', description: 'State of the new run.' }) state: string;
  @StringField({ ...TICKET_REF, description: 'The reference of the request, or the generated one.' })
  ticket_ref: string;
  @StringField({ ...OPTIONAL, description: 'Where people watch the run.' }) run_url?: string;
}
