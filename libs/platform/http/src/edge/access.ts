import { SetMetadata } from '@nestjs/common';

/** Which callers a route accepts. A route without a declaration answers 401 and fails the audit test. */
export type Access =
  | { readonly kind: 'public' }
  /** A separate guard authenticates by execution token. */
  | { readonly kind: 'runner' }
  /** A bearer token whose principal has the permission. */
  | { readonly kind: 'permission'; readonly permission: string };

export const ACCESS = Symbol('headrace:access');

const declareAccess = (access: Access) => SetMetadata(ACCESS, access);

/** The route needs no token. */
export const Public = () => declareAccess({ kind: 'public' });

/** A route of the runner protocol: a separate guard authenticates by execution token, and no rate limit applies. */
export const RunnerProtocol = () => declareAccess({ kind: 'runner' });

/** Used by the `@Authorize` decorator of the auth library. */
export const RequirePermission = (permission: string) => declareAccess({ kind: 'permission', permission });
