export { type MembershipResult, MembersService, type TeamMember } from './application/members.service.js';
export { AttemptLimit } from './application/attempt-limit.js';
export {
  type AcceptedInvitation,
  type Invitation,
  InvitationsService,
  invitationUrl,
} from './application/invitations.service.js';
export { EMAIL_ADDRESS } from './domain/email-address.js';
export { PrincipalDirectory, type PrincipalInfo, type PrincipalRef } from './application/principal-directory.js';
export {
  type DeviceAuthorization,
  DeviceAuthorizationsService,
  type DeviceDecision,
} from './application/device-authorizations.service.js';
export { OpenIdProvider } from './application/openid-provider.js';
export { type OpenIdRejection, type OpenIdSignIn, OpenIdSignInService } from './application/openid-sign-in.service.js';
export {
  type CreatedSession,
  loginUrl,
  MAX_SESSIONS,
  type Session,
  type SessionOrigin,
  SessionsService,
  SIGN_IN_METHODS,
  type SignInMethod,
} from './application/sessions.service.js';
export { isStillValid } from './application/still-valid.js';
export { type ListedServiceAccount, ServiceAccountsService } from './application/service-accounts.service.js';
export { type Team, type TeamChanges, TeamsService } from './application/teams.service.js';
export { TeamDirectory } from './application/team-directory.js';
export { AccessChanges, TOKEN_CACHE_MS, TokenAuthenticator } from './application/token-authenticator.js';
export { TokenUsage } from './application/token-usage.js';
export { type TokenRecord, TokensService } from './application/tokens.service.js';
export {
  DisabledUserListener,
  DisabledUserListeners,
  type UserChanges,
  UsersService,
  type UserWithMemberships,
} from './application/users.service.js';
export { AuthHttpModule, AuthModule } from './auth.module.js';
export {
  allowAsAdministrator,
  allowByPossession,
  allowedTeams,
  isAllowed,
  type Owner,
  ownerFor,
} from './domain/owner.js';
export {
  type Caller,
  INITIAL_TEAM_SETTINGS,
  type Membership,
  type Principal,
  roleIn,
  selectTeams,
} from './domain/principal.js';
export {
  can,
  declarePermissions,
  mayHavePersonalRuns,
  type Permission,
  PERMISSIONS,
  type PluginPermission,
  type Role,
  ROLES,
} from './domain/roles.js';
export { Audited, auditSource } from './http/audited.js';
export { Authorize, CurrentCaller, CurrentPrincipal, INSTALLATION, teamOf } from './http/authorize.js';
export { RequestPrincipals } from './http/request-principals.js';
export { CONSOLE_HEADER, isSentByConsole, OpenIdCookie, SessionCookie } from './http/session-cookie.js';
export { UnauthorizedThrottle } from './http/unauthorized-throttle.js';
export { Authenticated, Public, RunnerProtocol } from '#platform/http';
