import { AUDIT_ACTORS } from '#platform/audit';
import {
  ArrayField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  object,
  ObjectField,
  PageInfo,
  StringField,
} from '#platform/http';
import { PageParameters } from './principals.dto.js';

const OPTIONAL = { optional: true } as const;
export const SCOPES = ['team', 'installation'] as const;

const SCOPE = {
  ...OPTIONAL,
  description:
    '`installation`: entries that belong to no team, for administrators of the installation. Default: `team`.',
} as const;

export class AuditLogScope {
  @EnumField(SCOPES, SCOPE) scope?: (typeof SCOPES)[number];
}

export class ListAuditLogParameters extends PageParameters {
  @EnumField(SCOPES, SCOPE) scope?: (typeof SCOPES)[number];
  @StringField({
    ...OPTIONAL,
    max: 64,
    description: 'An action such as `member.updated`, or with a dot at the end all actions of a resource: `member.`',
  })
  action?: string;
  @StringField({ ...OPTIONAL, max: 64, description: 'UID of the principal.' }) actor_uid?: string;
  @StringField({ ...OPTIONAL, max: 256, description: 'UID or name of the target.' }) target_uid?: string;
  @DateTimeField({ ...OPTIONAL, description: 'Entries after this time.' }) after?: Date;
  @DateTimeField({ ...OPTIONAL, description: 'Entries before this time.' }) before?: Date;
}

export class AuditActorItem {
  @EnumField(AUDIT_ACTORS, {
    description:
      '`command_line`: a command of the server. `system`: the installation itself. `notification_webhook`, `chat_user`: a signed decision in a message.',
  })
  type: (typeof AUDIT_ACTORS)[number];
  @StringField({ ...OPTIONAL, description: 'UID of the principal.' }) uid?: string;
  @StringField({ ...OPTIONAL, description: 'Name of the principal at that time.' }) name?: string;
  @StringField({ ...OPTIONAL, description: 'UID of the token or session that was used.' }) token_uid?: string;
}

export class AuditTargetItem {
  @StringField({ description: 'Type of the resource.' }) type: string;
  @StringField({ ...OPTIONAL, description: 'UID or name of the resource.' }) uid?: string;
  @StringField({ ...OPTIONAL, description: 'Name of the resource at that time.' }) name?: string;
}

export class AuditSourceItem {
  @StringField({ ...OPTIONAL, description: 'IP address of the sender.' }) address?: string;
  @StringField({ ...OPTIONAL, description: 'Program of the sender.' }) user_agent?: string;
  @StringField({ ...OPTIONAL, description: 'Trace id of the request.' }) trace_id?: string;
}

export class AuditEntryItem {
  @IntegerField({ description: 'Number of the entry, from 1 without gaps.' }) seq: number;
  @DateTimeField({ description: 'When the operation was executed.' }) occurred_at: string;
  @StringField({ description: 'The operation.' }) action: string;
  @ObjectField(() => AuditActorItem, { description: 'Who executed it.' }) actor: AuditActorItem;
  @ObjectField(() => AuditTargetItem, { description: 'What was changed or used.' }) target: AuditTargetItem;
  @ObjectField(() => AuditSourceItem, { ...OPTIONAL, description: 'From where.' }) source?: AuditSourceItem;
  @JsonField({
    ...OPTIONAL,
    schema: { type: 'object', additionalProperties: true },
    description:
      'More about the operation: `fields` are the fields of the request. Values of secrets are never logged.',
  })
  details?: Readonly<Record<string, unknown>>;
  @StringField({ description: 'SHA-256 of the hash of the entry before and this entry, in hexadecimal digits.' })
  hash: string;
}

export class ListAuditLogResponse {
  @ArrayField(object(() => AuditEntryItem), { description: 'The entries, newest first.' }) entries: AuditEntryItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}
