import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { RequirePermission, teamRequired } from '#platform/http';
import { isDecided } from '../domain/owner.js';
import type { Caller, Principal } from '../domain/principal.js';
import type { Permission } from '../domain/roles.js';
import { callerOf, principalOf, unauthenticated } from './bearer-authenticator.js';

/** The team that the caller has chosen by the team header, or the only team of the caller. */
export const TEAM = 'team';

/** All teams and users of it: the caller must be an administrator. */
export const INSTALLATION = 'installation';

/**
 * The route needs a bearer token and the permission on the resource. On the team, and on the installation, the guard decides it
 * before the body is validated.
 * For any other resource, such as `run`, the caller that the handler receives carries the permission, the service decides it
 * with `isAllowed(caller, owner)`, and an operation that succeeds without a decision is answered with 500.
 */
export const Authorize = (permission: Permission, resource = TEAM): MethodDecorator =>
  resource === TEAM || resource === INSTALLATION
    ? RequirePermission(permission, resource)
    : applyDecorators(RequirePermission(permission, resource), requireDecision(permission, resource));

/**
 * Fails an operation that succeeded although nothing decided its permission on its resource. The handler is replaced,
 * because an interceptor costs a tenth of the creation of a run.
 */
const requireDecision =
  (permission: Permission, resource: string): MethodDecorator =>
  (target, key, descriptor) => {
    const handler = descriptor.value as (...parameters: unknown[]) => unknown;
    const decided = async function (this: unknown, ...parameters: unknown[]): Promise<unknown> {
      const result = await handler.apply(this, parameters);
      if (parameters.some(isDecided)) return result;
      const operation = `${target.constructor.name}.${String(key)}`;
      throw new Error(`${operation} did not decide ${permission} on the ${resource}.`);
    };
    Object.defineProperty(decided, 'name', { value: key });
    for (const name of Reflect.getMetadataKeys(handler))
      Reflect.defineMetadata(name, Reflect.getMetadata(name, handler), decided);
    descriptor.value = decided as typeof descriptor.value;
  };

/** `@CurrentCaller() caller: Caller` in a handler of an `@Authorize` route. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = callerOf(context.switchToHttp().getRequest<Request>());
  if (!caller) throw unauthenticated();
  return caller;
});

/** `@CurrentPrincipal() principal: Principal` in a handler of an `@Authenticated` route. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const principal = principalOf(context.switchToHttp().getRequest<Request>());
  if (!principal) throw unauthenticated();
  return principal;
});

/** The team for which the operation is executed. Throws a ProblemError when a user of several teams has chosen none. */
export function teamOf({ teamUid }: Caller): string {
  if (teamUid !== null) return teamUid;
  throw teamRequired();
}
