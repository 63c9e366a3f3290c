import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessChanges } from './application/access-changes.js';
import { MembersService } from './application/members.service.js';
import { PrincipalDirectory } from './application/principal-directory.js';
import { ServiceAccountsService } from './application/service-accounts.service.js';
import { TeamDirectory } from './application/team-directory.js';
import { TeamsService } from './application/teams.service.js';
import { TokenAuthenticator } from './application/token-authenticator.js';
import { TokensService } from './application/tokens.service.js';
import { DisabledUserListeners, UsersService } from './application/users.service.js';
import { AUTH_ENTITIES } from './persistence/entities.js';
import { TokenQueries } from './persistence/token-queries.js';

const EXPORTED = [
  AccessChanges,
  DisabledUserListeners,
  MembersService,
  PrincipalDirectory,
  ServiceAccountsService,
  TeamDirectory,
  TeamsService,
  TokenAuthenticator,
  TokenQueries,
  TokensService,
  UsersService,
];

/** Principals, teams, roles and tokens, for the command line and, with {@link AuthHttpModule}, the API. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature(AUTH_ENTITIES)],
  providers: EXPORTED,
  exports: EXPORTED,
})
export class AuthModule {}
