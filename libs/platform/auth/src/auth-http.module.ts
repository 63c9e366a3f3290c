import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { RequestGate, SenderAddress } from '#platform/http';
import { TokenUsage } from './application/token-usage.js';
import { AuthModule } from './auth.module.js';
import { AuthorizeGuard, PermissionInterceptor } from './http/authorize.guard.js';
import { BearerGate } from './http/bearer-gate.js';
import { UnauthorizedPace } from './http/unauthorized-pace.js';

/** Closes every route that is not declared open: the gate before the body, the guard before the handler. */
@Module({
  imports: [AuthModule],
  providers: [
    SenderAddress,
    UnauthorizedPace,
    TokenUsage,
    { provide: RequestGate, useClass: BearerGate },
    { provide: APP_GUARD, useClass: AuthorizeGuard },
    { provide: APP_INTERCEPTOR, useClass: PermissionInterceptor },
  ],
  exports: [RequestGate, TokenUsage, UnauthorizedPace],
})
export class AuthHttpModule {}
