import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { RequirePermission } from '#platform/http';
import type { Caller } from '../domain/principal.js';
import type { Permission } from '../domain/roles.js';
import { unauthenticated } from './bearer-authenticator.js';
import { callerOf } from './request-principal.js';

/**
 * The route needs a bearer token, and this permission in the chosen team of the caller. For a resource of another owner, and
 * for a user of several teams without a chosen one, the service decides the permission when the owner is known.
 */
export const Authorize = (permission: Permission) => RequirePermission(permission);

/** `@CurrentCaller() caller: Caller` in a handler of an `@Authorize` route. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = callerOf(context.switchToHttp().getRequest<Request>());
  if (!caller) throw unauthenticated();
  return caller;
});
