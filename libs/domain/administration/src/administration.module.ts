import { Module } from '@nestjs/common';
import { AuditModule } from '#platform/audit';
import { AuthHttpModule } from '#platform/auth';
import { AuditLogController } from './http/audit-log.controller.js';
import { BrowserSignIns } from './http/browser-sign-ins.js';
import { CurrentPrincipalController } from './http/current-principal.controller.js';
import { DeviceAuthorizationsController } from './http/device-authorizations.controller.js';
import { DeviceFlowController } from './http/device-flow.controller.js';
import { InvitationsController } from './http/invitations.controller.js';
import { MembersController } from './http/members.controller.js';
import { OpenIdController } from './http/openid.controller.js';
import { ServiceAccountsController } from './http/service-accounts.controller.js';
import { SessionsController } from './http/sessions.controller.js';
import { SignInOptionsController } from './http/sign-in-options.controller.js';
import { SignInLimit } from './http/sign-in-limit.js';
import { TeamsController } from './http/teams.controller.js';
import { TokensController } from './http/tokens.controller.js';
import { UsersController } from './http/users.controller.js';

/** Operations on teams, members, users, service accounts and tokens, and the audit log. */
@Module({
  imports: [AuthHttpModule, AuditModule],
  controllers: [
    CurrentPrincipalController,
    TeamsController,
    MembersController,
    UsersController,
    ServiceAccountsController,
    TokensController,
    SessionsController,
    SignInOptionsController,
    OpenIdController,
    DeviceFlowController,
    DeviceAuthorizationsController,
    InvitationsController,
    AuditLogController,
  ],
  providers: [BrowserSignIns, SignInLimit],
})
export class AdministrationHttpModule {}
