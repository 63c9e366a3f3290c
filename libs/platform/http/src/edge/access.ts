import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

/** Which callers a route accepts. A route without a declaration answers 401 and fails the audit test. */
export type Access =
  | { readonly kind: 'public' }
  /** A separate guard authenticates by execution token. */
  | { readonly kind: 'runner' }
  /** A bearer token; the route shows nothing that belongs to anybody. */
  | { readonly kind: 'authenticated' }
  /** A bearer token whose principal has the permission on the resource. */
  | { readonly kind: 'permission'; readonly permission: string; readonly resource: string };

/** What the OpenAPI document says about the permission of an operation. */
export const PERMISSION_EXTENSION = 'x-permission';

export const ACCESS = Symbol('headrace:access');

const declareAccess = (access: Access) => SetMetadata(ACCESS, access);

/** The route needs no token. */
export const Public = () => declareAccess({ kind: 'public' });

/** The route needs a bearer token and no permission: it shows nothing that belongs to a team or a user. */
export const Authenticated = () => declareAccess({ kind: 'authenticated' });

/** A route of the runner protocol: a separate guard authenticates by execution token, and no rate limit applies. */
export const RunnerProtocol = () => declareAccess({ kind: 'runner' });

/** Used by the `@Authorize` decorator of the auth library. */
export const RequirePermission = (permission: string, resource: string) =>
  applyDecorators(
    declareAccess({ kind: 'permission', permission, resource }),
    ApiExtension(PERMISSION_EXTENSION, { permission, resource }),
  );
