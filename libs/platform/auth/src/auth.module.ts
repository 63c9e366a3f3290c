import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RequestAuthenticator } from '#platform/http';
import { DeviceAuthorizationsService } from './application/device-authorizations.service.js';
import { InvitationsService } from './application/invitations.service.js';
import { MembersService } from './application/members.service.js';
import { OpenIdProvider } from './application/openid-provider.js';
import { OpenIdSignInService } from './application/openid-sign-in.service.js';
import { PrincipalDirectory } from './application/principal-directory.js';
import { DeleteSessions, SessionsService } from './application/sessions.service.js';
import { ServiceAccountsService } from './application/service-accounts.service.js';
import { TeamDirectory } from './application/team-directory.js';
import { TeamsService } from './application/teams.service.js';
import { AccessChanges, TokenAuthenticator } from './application/token-authenticator.js';
import { TokenUsage } from './application/token-usage.js';
import { TokensService } from './application/tokens.service.js';
import { DisabledUserListeners, UsersService } from './application/users.service.js';
import { AuditModule } from '#platform/audit';
import { AuthorizeGuard } from './http/authorize.guard.js';
import { BearerAuthenticator } from './http/bearer-authenticator.js';
import { RequestPrincipals } from './http/request-principals.js';
import { OpenIdCookie, SessionCookie } from './http/session-cookie.js';
import { UnauthorizedThrottle } from './http/unauthorized-throttle.js';
import { TokenQueries } from './persistence/token-queries.js';

const EXPORTED = [
  AccessChanges,
  DeviceAuthorizationsService,
  DisabledUserListeners,
  InvitationsService,
  MembersService,
  OpenIdCookie,
  OpenIdProvider,
  OpenIdSignInService,
  PrincipalDirectory,
  RequestPrincipals,
  ServiceAccountsService,
  SessionCookie,
  SessionsService,
  TeamDirectory,
  TeamsService,
  TokenAuthenticator,
  TokenQueries,
  TokensService,
  UsersService,
];

/** Principals, teams, roles and tokens, for the command line and, with {@link AuthHttpModule}, the API. */
@Global()
@Module({ providers: EXPORTED, exports: EXPORTED })
export class AuthModule {}

/** Closes every route that is not declared open: authentication before the body, authorization before the handler. */
@Module({
  imports: [AuthModule, AuditModule],
  providers: [
    DeleteSessions,
    TokenUsage,
    UnauthorizedThrottle,
    { provide: RequestAuthenticator, useClass: BearerAuthenticator },
    { provide: APP_GUARD, useClass: AuthorizeGuard },
  ],
  exports: [RequestAuthenticator, TokenUsage, UnauthorizedThrottle],
})
export class AuthHttpModule {}
