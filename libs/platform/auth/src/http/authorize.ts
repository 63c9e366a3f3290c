import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { Request } from 'express';
import { type Observable, tap } from 'rxjs';
import { RequirePermission } from '#platform/http';
import { isDecided } from '../domain/owner.js';
import type { Caller } from '../domain/principal.js';
import type { Permission } from '../domain/roles.js';
import { callerOf, unauthenticated } from './bearer-authenticator.js';

/** The team that the caller has chosen by the team header, or the only team of the caller. */
export const TEAM = 'team';

/**
 * The route needs a bearer token and the permission on the resource. On the team the guard decides it before the body is validated.
 * For any other resource, such as `run`, the caller that the handler receives carries the permission, the service decides it
 * with `isAllowed(caller, owner)`, and an operation that succeeds without a decision is answered with 500.
 */
export const Authorize = (permission: Permission, resource = TEAM): MethodDecorator & ClassDecorator =>
  resource === TEAM
    ? RequirePermission(permission, resource)
    : applyDecorators(
        RequirePermission(permission, resource),
        UseInterceptors(new PermissionInterceptor(permission, resource)),
      );

/** Fails an operation that succeeded although nothing decided its permission on its resource. */
class PermissionInterceptor implements NestInterceptor {
  constructor(
    private readonly permission: Permission,
    private readonly resource: string,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const caller = callerOf(context.switchToHttp().getRequest<Request>());
    return next.handle().pipe(
      tap(() => {
        if (caller && isDecided(caller)) return;
        const operation = `${context.getClass().name}.${context.getHandler().name}`;
        throw new Error(`${operation} did not decide ${this.permission} on the ${this.resource}.`);
      }),
    );
  }
}

/** `@CurrentCaller() caller: Caller` in a handler of an `@Authorize` route. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = callerOf(context.switchToHttp().getRequest<Request>());
  if (!caller) throw unauthenticated();
  return caller;
});
