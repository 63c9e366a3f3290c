import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

/** Who may call a route. A route without a declaration answers 401 and fails the audit test. */
export type Access =
  | { readonly kind: 'public' }
  /** Authenticates by execution token in a guard of its own. */
  | { readonly kind: 'runner' }
  /** A bearer token whose principal has the permission on the resource. */
  | { readonly kind: 'permission'; readonly permission: string; readonly resource: string };

/** What the OpenAPI document says about the permission of an operation. */
export const PERMISSION_EXTENSION = 'x-permission';

export const ACCESS = Symbol('headrace:access');

const declareAccess = (access: Access) => SetMetadata(ACCESS, access);

/** No token is asked for. */
export const Public = () => declareAccess({ kind: 'public' });

/** The runner protocol: authenticated by execution token in its own guard, not throttled. */
export const RunnerProtocol = () => declareAccess({ kind: 'runner' });

/** Used by the `@Authorize` decorator of the auth library. */
export const RequirePermission = (permission: string, resource: string) =>
  applyDecorators(
    declareAccess({ kind: 'permission', permission, resource }),
    ApiExtension(PERMISSION_EXTENSION, { permission, resource }),
  );
