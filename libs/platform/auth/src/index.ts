export { AccessChanges } from './application/access-changes.js';
export { type MembershipResult, MembersService } from './application/members.service.js';
export { PrincipalDirectory, type PrincipalInfo, type PrincipalRef } from './application/principal-directory.js';
export { type ServiceAccount, ServiceAccountsService } from './application/service-accounts.service.js';
export { type Team, type TeamChanges, TeamsService } from './application/teams.service.js';
export { TeamDirectory } from './application/team-directory.js';
export { TOKEN_CACHE_MS, TokenAuthenticator } from './application/token-authenticator.js';
export { TokenUsage } from './application/token-usage.js';
export { TokensService } from './application/tokens.service.js';
export { DisabledUserListener, DisabledUserListeners, UsersService } from './application/users.service.js';
export { AuthModule } from './auth.module.js';
export { AuthHttpModule } from './auth-http.module.js';
export { allowByPossession, allowedTeams, isAllowed, type Owner, ownerFor } from './domain/owner.js';
export { mayHavePersonalRuns, type PersonalRuns } from './domain/personal-runs.js';
export {
  type Caller,
  type Membership,
  type Principal,
  type PrincipalType,
  hasPermission,
  roleIn,
  selectTeams,
} from './domain/principal.js';
export { can, isRole, type Permission, PERMISSIONS, type Role, ROLES, SERVICE_ACCOUNT_ROLE } from './domain/roles.js';
export { INITIAL_TEAM_SETTINGS, type TeamFeatures, type TeamSettings } from './domain/team-settings.js';
export { hashToken, isTokenShaped, type TokenRefusal } from './domain/token.js';
export { Authorize, CurrentCaller } from './http/authorize.js';
export { UnauthorizedThrottle } from './http/unauthorized-throttle.js';
export { Authenticated, Public, RunnerProtocol } from '#platform/http';
