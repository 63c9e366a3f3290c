import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { RequestAuthenticator, SenderAddress } from '#platform/http';
import { TokenUsage } from './application/token-usage.js';
import { AuthModule } from './auth.module.js';
import { AuthorizeGuard, PermissionInterceptor } from './http/authorize.guard.js';
import { BearerAuthenticator } from './http/bearer-authenticator.js';
import { UnauthorizedThrottle } from './http/unauthorized-throttle.js';

/** Closes every route that is not declared open: the gate before the body, the guard before the handler. */
@Module({
  imports: [AuthModule],
  providers: [
    SenderAddress,
    TokenUsage,
    UnauthorizedThrottle,
    { provide: RequestAuthenticator, useClass: BearerAuthenticator },
    { provide: APP_GUARD, useClass: AuthorizeGuard },
    { provide: APP_INTERCEPTOR, useClass: PermissionInterceptor },
  ],
  exports: [RequestAuthenticator, TokenUsage, UnauthorizedThrottle],
})
export class AuthHttpModule {}
