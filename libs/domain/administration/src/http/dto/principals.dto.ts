import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  object,
  PageInfo,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { EMAIL_ADDRESS, type Role, ROLES } from '#platform/auth';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;
const EMAIL = { max: 254, pattern: EMAIL_ADDRESS, says: 'an e-mail address' } as const;
const DISPLAY_NAME = { blank: false, max: 200, description: 'Name that is shown.' } as const;
const ROLE = { name: 'TeamRole' } as const;

/** Query of a list in pages. */
export class PageParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 500, description: 'Maximum number of results. Default: 100.' })
  limit?: number;
  @StringField({ ...OPTIONAL, description: 'Cursor from the previous response.' }) cursor?: string;
}

export class MembershipItem {
  @StringField({ ...UID, description: 'UID of the team.' }) team_uid: string;
  @StringField({ description: 'Name of the team.' }) team_name: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team.' }) role: Role;
  @ArrayField(text(), { description: 'What the role permits, as in `x-permission` of the operations.' })
  permissions: string[];
}

export class CurrentPrincipalResponse {
  @EnumField(['user', 'service_account'], { description: 'Type of the principal.' }) type: 'user' | 'service_account';
  @StringField({ ...UID, description: 'UID of the user or the service account.' }) uid: string;
  @StringField({ description: 'Name that is shown.' }) display_name: string;
  @StringField({ ...OPTIONAL, description: 'E-mail address of a user.' }) email?: string;
  @BooleanField({ description: 'Whether the user administers the installation.' }) is_administrator: boolean;
  @ArrayField(object(() => MembershipItem), { description: 'Teams of the principal.' }) memberships: MembershipItem[];
}

export class CreateUserRequest {
  @StringField({ ...EMAIL, description: 'E-mail address, unique in the installation.', example: 'ada@example.com' })
  email: string;
  @StringField({ ...DISPLAY_NAME, ...OPTIONAL, description: 'Name that is shown. Default: the e-mail address.' })
  display_name?: string;
  @BooleanField({ ...OPTIONAL, description: 'Whether the user administers the installation.' })
  is_administrator?: boolean;
}

export class UpdateUserRequest {
  @StringField({ ...DISPLAY_NAME, ...OPTIONAL }) display_name?: string;
  @BooleanField({
    ...OPTIONAL,
    description:
      'true rejects all tokens and sessions of the user, pauses personal schedules and cancels personal runs. false accepts the tokens again.',
  })
  is_disabled?: boolean;
  @BooleanField({ ...OPTIONAL, description: 'Whether the user administers the installation.' })
  is_administrator?: boolean;
}

export class UserMembership {
  @StringField({ ...UID, description: 'UID of the team.' }) team_uid: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team.' }) role: Role;
}

const VERIFIED =
  'Whether the address belongs to the user. false: an invitation to it created the account, and another person may have accepted that.';

export class UserItem {
  @StringField({ ...UID, description: 'UID of the user.' }) uid: string;
  @StringField({ description: 'E-mail address.' }) email: string;
  @BooleanField({ description: VERIFIED }) is_email_verified: boolean;
  @StringField({ description: 'Name that is shown.' }) display_name: string;
  @StringField({ ...OPTIONAL, description: 'URL of a picture.' }) photo_url?: string;
  @BooleanField({ description: 'Whether the user administers the installation.' }) is_administrator: boolean;
  @DateTimeField({ ...OPTIONAL, description: 'When the user was disabled.' }) disabled_at?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ArrayField(object(() => UserMembership), { description: 'Teams of the user.' }) memberships: UserMembership[];
}

export class ListUsersParameters extends PageParameters {
  @StringField({ ...OPTIONAL, max: 254, description: 'Part of the e-mail address or of the name.' }) query?: string;
}

export class ListUsersResponse {
  @ArrayField(object(() => UserItem), { description: 'The users, by e-mail address.' }) users: UserItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}

export class SetMemberRequest {
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team. Only owners can make and remove owners.' }) role: Role;
}

export class MemberItem {
  @StringField({ ...UID, description: 'UID of the user.' }) uid: string;
  @StringField({ description: 'E-mail address.' }) email: string;
  @BooleanField({ description: VERIFIED }) is_email_verified: boolean;
  @StringField({ description: 'Name that is shown.' }) display_name: string;
  @StringField({ ...OPTIONAL, description: 'URL of a picture.' }) photo_url?: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team.' }) role: Role;
  @DateTimeField({ ...OPTIONAL, description: 'When the user was disabled.' }) disabled_at?: string;
  @DateTimeField({ description: 'When the user became a member.' }) member_since: string;
}

export class ListMembersResponse {
  @ArrayField(object(() => MemberItem), { description: 'The members, by e-mail address.' }) members: MemberItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}

export class CreateServiceAccountRequest {
  @StringField({ blank: false, max: 200, description: 'Name of the service account.', example: 'deploy pipeline' })
  name: string;
}

export class ServiceAccountItem {
  @StringField({ ...UID, description: 'UID of the service account.' }) uid: string;
  @StringField({ description: 'Name of the service account.' }) name: string;
  @BooleanField({ description: 'Whether it is the account of an agent identity, with which it is deleted.' })
  is_agent_identity: boolean;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
}

export class ListServiceAccountsResponse {
  @ArrayField(object(() => ServiceAccountItem), { description: 'The service accounts, by name.' })
  service_accounts: ServiceAccountItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}

const SERVICE_ACCOUNT = {
  ...OPTIONAL,
  ...UID,
  description: 'Service account or agent identity that owns the token. Default: you.',
} as const;

export class CreateTokenRequest {
  @StringField({ blank: false, max: 200, description: 'Name of the token.', example: 'laptop' }) name: string;
  @DateTimeField({ ...OPTIONAL, description: 'From then on the token is rejected. Default: never.' }) expires_at?: Date;
  @StringField(SERVICE_ACCOUNT) service_account_uid?: string;
  @StringField({ ...OPTIONAL, ...UID, description: 'Another user, for administrators of the installation.' })
  user_uid?: string;
}

export class ListTokensParameters extends PageParameters {
  @StringField(SERVICE_ACCOUNT) service_account_uid?: string;
  @StringField({ ...OPTIONAL, ...UID, description: 'Another user, for administrators of the installation.' })
  user_uid?: string;
}

export class TokenOwner {
  @EnumField(['user', 'service_account'], { description: 'Type of the principal.' }) type: 'user' | 'service_account';
  @StringField({ ...UID, description: 'UID of the principal.' }) uid: string;
}

export class TokenItem {
  @StringField({ ...UID, description: 'UID of the token.' }) uid: string;
  @StringField({ description: 'Name of the token.' }) name: string;
  @StringField({ description: 'The first characters of the token.' }) prefix: string;
  @ObjectField(() => TokenOwner, { description: 'The principal that the token authenticates.' }) owner: TokenOwner;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ ...OPTIONAL, description: 'When it expires.' }) expires_at?: string;
  @DateTimeField({ ...OPTIONAL, description: 'Last use, exact to about a minute.' }) last_used_at?: string;
}

export class CreateTokenResponse extends TokenItem {
  @StringField({ description: 'The token. Returned only once.' }) token: string;
}

export class ListTokensResponse {
  @ArrayField(object(() => TokenItem), { description: 'The tokens that are not revoked.' }) tokens: TokenItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}
