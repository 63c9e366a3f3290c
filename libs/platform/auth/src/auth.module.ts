import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessChanges } from './application/access-changes.js';
import { DisabledUserListeners, DisableUser, EnableUser } from './application/disable-user.js';
import { RemoveMember, SetRole } from './application/members.js';
import { PrincipalDirectory } from './application/principal-directory.js';
import { PrincipalLookup } from './application/principal-lookup.js';
import { CreateServiceAccount, ServiceAccounts } from './application/service-accounts.js';
import { CreateTeam, ListTeams, UpdateTeam } from './application/teams.js';
import { TeamDirectory } from './application/team-directory.js';
import { TokenAuthenticator } from './application/token-authenticator.js';
import { CreateToken, ListTokens, RevokeToken } from './application/tokens.js';
import { CreateUser, ListUsers } from './application/users.js';
import { AUTH_ENTITIES } from './persistence/entities.js';
import { TokenQueries } from './persistence/token-queries.js';

const USE_CASES = [
  CreateTeam,
  ListTeams,
  UpdateTeam,
  CreateUser,
  ListUsers,
  DisableUser,
  EnableUser,
  SetRole,
  RemoveMember,
  CreateServiceAccount,
  ServiceAccounts,
  CreateToken,
  ListTokens,
  RevokeToken,
];

/** Who is who. Needs the persistence module and a `Clock`; for the command line and, below {@link AuthHttpModule}, the API. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature(AUTH_ENTITIES)],
  providers: [
    ...USE_CASES,
    AccessChanges,
    DisabledUserListeners,
    PrincipalDirectory,
    PrincipalLookup,
    TeamDirectory,
    TokenAuthenticator,
    TokenQueries,
  ],
  exports: [
    ...USE_CASES,
    AccessChanges,
    DisabledUserListeners,
    PrincipalDirectory,
    PrincipalLookup,
    TeamDirectory,
    TokenAuthenticator,
    TokenQueries,
  ],
})
export class AuthModule {}
