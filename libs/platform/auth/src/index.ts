export { AccessChanges } from './application/access-changes.js';
export {
  DisabledUserListener,
  DisabledUserListeners,
  DisableUser,
  type DisableUserResult,
  EnableUser,
  type EnableUserResult,
} from './application/disable-user.js';
export { type MembershipResult, RemoveMember, SetRole } from './application/members.js';
export { PrincipalDirectory, type PrincipalInfo, type PrincipalRef } from './application/principal-directory.js';
export { PrincipalLookup } from './application/principal-lookup.js';
export {
  CreateServiceAccount,
  type CreateServiceAccountResult,
  type ServiceAccount,
  ServiceAccounts,
} from './application/service-accounts.js';
export {
  CreateTeam,
  ListTeams,
  type Team,
  type TeamChanges,
  UpdateTeam,
  type UpdateTeamResult,
} from './application/teams.js';
export { TeamDirectory } from './application/team-directory.js';
export { TOKEN_CACHE_MS, TokenAuthenticator } from './application/token-authenticator.js';
export { TokenUsage } from './application/token-usage.js';
export {
  CreateToken,
  type CreateTokenResult,
  ListTokens,
  RevokeToken,
  type RevokeTokenResult,
  type TokenRecord,
} from './application/tokens.js';
export {
  CreateUser,
  type CreateUserCommand,
  type CreateUserResult,
  ListUsers,
  type User,
} from './application/users.js';
export { AuthModule } from './auth.module.js';
export { AuthHttpModule } from './auth-http.module.js';
export { type Owner, ownerFor } from './domain/owner.js';
export { mayHavePersonalRuns, type PersonalRuns } from './domain/personal-runs.js';
export {
  type Caller,
  type Membership,
  type Principal,
  type PrincipalType,
  resolveCaller,
  hasPermission,
  roleIn,
} from './domain/principal.js';
export { can, isRole, type Permission, PERMISSIONS, type Role, ROLES, SERVICE_ACCOUNT_ROLE } from './domain/roles.js';
export { INITIAL_TEAM_SETTINGS, type TeamFeatures, type TeamSettings } from './domain/team-settings.js';
export { hashToken, isTokenShaped, type TokenRefusal } from './domain/token.js';
export { Authorize, CurrentCaller } from './http/authorize.js';
export { UnauthorizedPace } from './http/unauthorized-pace.js';
export { Public, RunnerProtocol } from '#platform/http';
