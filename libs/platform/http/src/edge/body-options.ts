import { SetMetadata } from '@nestjs/common';

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
