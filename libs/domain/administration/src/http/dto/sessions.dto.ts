import { ArrayField, BooleanField, DateTimeField, EnumField, object, ObjectField, StringField } from '#platform/http';
import { SIGN_IN_METHODS, type SignInMethod } from '#platform/auth';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;

export class CreateSessionRequest {
  @StringField({ ...OPTIONAL, blank: false, max: 100, description: 'Code of a link to sign in. It can be used once.' })
  login_code?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 100, description: 'Token of a user.' }) token?: string;
}

export class SessionItem {
  @StringField({ ...UID, description: 'UID of the session.' }) uid: string;
  @EnumField(SIGN_IN_METHODS, { description: 'How the user signed in.' }) method: SignInMethod;
  @BooleanField({ description: 'Whether it is the session of this request.' }) is_current: boolean;
  @StringField({ ...OPTIONAL, description: 'IP address from which the user signed in.' }) address?: string;
  @StringField({ ...OPTIONAL, description: 'Browser with which the user signed in.' }) user_agent?: string;
  @DateTimeField({ description: 'When the user signed in.' }) created_at: string;
  @DateTimeField({ description: 'When the session expires.' }) expires_at: string;
  @DateTimeField({ ...OPTIONAL, description: 'Last use, exact to about a minute.' }) last_used_at?: string;
}

export class ListSessionsResponse {
  @ArrayField(object(() => SessionItem), { description: 'The sessions that are valid, newest first, at most 100.' })
  sessions: SessionItem[];
}

export class CreateLoginLinkRequest {
  @StringField({
    ...OPTIONAL,
    ...UID,
    description: 'Another user, for administrators of the installation. Default: you.',
  })
  user_uid?: string;
}

export class LoginLink {
  @StringField({ ...UID, description: 'UID of the link; the audit log names it in the session that it creates.' })
  uid: string;
  @StringField({ description: 'The link, which can be used once. Returned only once.' }) url: string;
  @DateTimeField({ description: 'When it expires.' }) expires_at: string;
}

export class OpenIdOption {
  @StringField({ description: 'Name of the provider.' }) name: string;
}

export class SignInOptions {
  @ObjectField(() => OpenIdOption, { ...OPTIONAL, description: 'OpenID Connect; absent if it is not configured.' })
  openid?: OpenIdOption;
}
