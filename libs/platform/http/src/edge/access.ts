import { SetMetadata } from '@nestjs/common';

/** Who may call a route. A route without a declaration answers 401 and fails the audit test. */
export type Access =
  | { readonly kind: 'public' }
  /** Authenticates by execution token in a guard of its own. */
  | { readonly kind: 'runner' }
  /** A bearer token whose principal has the permission. */
  | { readonly kind: 'permission'; readonly permission: string };

export const ACCESS = Symbol('headrace:access');

const declareAccess = (access: Access) => SetMetadata(ACCESS, access);

/** No token is asked for. */
export const Public = () => declareAccess({ kind: 'public' });

/** The runner protocol: authenticated by execution token in its own guard, not throttled. */
export const RunnerProtocol = () => declareAccess({ kind: 'runner' });

/** Used by the `@Authorize` decorator of the auth library. */
export const RequirePermission = (permission: string) => declareAccess({ kind: 'permission', permission });
