import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

/** Which callers a route accepts. A route without a declaration answers 401 and fails the audit test. */
export type Access =
  | { readonly kind: 'public' }
  /** A separate guard authenticates by execution token. */
  | { readonly kind: 'runner' }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'permission'; readonly permission: string; readonly resource: string };

/** What the OpenAPI document says about the permission of an operation. */
export const PERMISSION_EXTENSION = 'x-permission';

export const ACCESS = Symbol('headrace:access');

const declareAccess = (access: Access) => SetMetadata(ACCESS, access);

export const Public = () => declareAccess({ kind: 'public' });

/** The route needs a bearer token and no permission: it shows nothing that belongs to a team or to other users. */
export const Authenticated = () => declareAccess({ kind: 'authenticated' });

/** A route of the runner protocol: a separate guard authenticates by execution token, and no rate limit applies. */
export const RunnerProtocol = () => declareAccess({ kind: 'runner' });

/** Used by the `@Authorize` decorator of the auth library. */
export const RequirePermission = (permission: string, resource: string) =>
  applyDecorators(
    declareAccess({ kind: 'permission', permission, resource }),
    ApiExtension(PERMISSION_EXTENSION, { permission, resource }),
  );

/** Metadata of an operation that the audit log records: its action. See `Audited` of the auth library. */
export const AUDITED_ACTION = Symbol('headrace:audited-action');

export const BODY_OPTIONS = Symbol('headrace:body');

export interface BodyOptions {
  /** Bytes. */
  readonly limit?: number;
  /** The handler reads the request stream; nothing is parsed, and every media type is accepted. */
  readonly streamed?: boolean;
  /** Levels of nesting. */
  readonly maxDepth?: number;
}

export const MIB = 1_048_576;
export const DEFAULT_BODY_LIMIT = 2 * MIB;
export const DEFAULT_BODY_DEPTH = 64;

/** Maximum size in bytes of the JSON body of an operation; the default is 2 MiB. */
export const BodyLimit = (limit: number, options: { maxDepth?: number } = {}) =>
  SetMetadata(BODY_OPTIONS, { limit, ...options } satisfies BodyOptions);

/** The handler reads the bytes of the request and enforces a limit by itself. */
export const StreamedBody = () => SetMetadata(BODY_OPTIONS, { streamed: true } satisfies BodyOptions);

export const OUTSIDE_PREFIX = Symbol('headrace:outside-prefix');

/** The paths of the controller begin at the origin instead of below `/api/v1`. Such routes are not in the OpenAPI document. */
export const OutsideApi = () => SetMetadata(OUTSIDE_PREFIX, true);
