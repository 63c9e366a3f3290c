import { ArrayField, DateTimeField, EnumField, object, ObjectField, PageInfo, StringField } from '#platform/http';
import { EMAIL_ADDRESS, type Role, ROLES } from '#platform/auth';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;
const EMAIL = { max: 254, pattern: EMAIL_ADDRESS, says: 'an e-mail address' } as const;
const ROLE = { name: 'TeamRole' } as const;
const CODE = { blank: false, max: 100, description: 'Code of the link. It is accepted once.' } as const;

export class CreateInvitationRequest {
  @StringField({ ...EMAIL, description: 'E-mail address of the person.', example: 'ada@example.com' }) email: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team. Only owners can invite owners.' }) role: Role;
}

export class InvitationItem {
  @StringField({ ...UID, description: 'UID of the invitation.' }) uid: string;
  @StringField({ description: 'E-mail address of the person.' }) email: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team.' }) role: Role;
  @StringField({ description: 'Name of the user who invites.' }) invited_by: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'When it expires.' }) expires_at: string;
}

export class CreateInvitationResponse extends InvitationItem {
  @StringField({ description: 'The link, which can be used once. Returned only once.' }) url: string;
}

export class ListInvitationsResponse {
  @ArrayField(object(() => InvitationItem), { description: 'The invitations, by e-mail address.' })
  invitations: InvitationItem[];
  @ObjectField(() => PageInfo, { description: 'Position in the list.' }) page_info: PageInfo;
}

export class LookUpInvitationRequest {
  @StringField(CODE) code: string;
}

/** What the person who has the link may know. */
export class InvitationOffer {
  @StringField({ description: 'Name of the team.' }) team_name: string;
  @StringField({ description: 'E-mail address of the person.' }) email: string;
  @EnumField(ROLES, { ...ROLE, description: 'Role on the team.' }) role: Role;
  @StringField({ description: 'Name of the user who invites.' }) invited_by: string;
  @DateTimeField({ description: 'When it expires.' }) expires_at: string;
}

export class AcceptInvitationRequest {
  @StringField(CODE) code: string;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 200,
    description: 'Name that is shown, of a new user. Default: the e-mail address.',
  })
  display_name?: string;
}
