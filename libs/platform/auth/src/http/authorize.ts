import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { RequirePermission } from '#platform/http';
import type { Caller } from '../domain/principal.js';
import type { Permission } from '../domain/roles.js';
import { unauthenticated } from './bearer-gate.js';
import { callerOf } from './request-principal.js';

/**
 * The route needs a bearer token, and this permission in the caller's team where one is chosen. Without a chosen team
 * (a user of several) the room asks `can(roleIn(principal, teamUid), permission)` once it knows the resource's team.
 */
export const Authorize = (permission: Permission, resource = 'team') => RequirePermission(permission, resource);

/** `@CurrentCaller() caller: Caller` in a handler of an `@Authorize` route. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = callerOf(context.switchToHttp().getRequest<Request>());
  if (!caller) throw unauthenticated();
  return caller;
});
