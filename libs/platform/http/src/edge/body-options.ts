import { SetMetadata } from '@nestjs/common';

export const BODY_OPTIONS = Symbol('headrace:body');

export interface BodyOptions {
  /** Bytes. */
  readonly limit?: number;
  /** The handler reads the request stream itself; nothing is parsed and any media type is let through. */
  readonly streamed?: boolean;
  /** Levels of nesting. */
  readonly maxDepth?: number;
}

export const MIB = 1_048_576;
export const DEFAULT_BODY_LIMIT = 2 * MIB;
export const DEFAULT_BODY_DEPTH = 64;

/** Bytes that the JSON body of this operation may have; 2 MiB where nothing is said. */
export const BodyLimit = (limit: number, options: { maxDepth?: number } = {}) =>
  SetMetadata(BODY_OPTIONS, { limit, ...options } satisfies BodyOptions);

/** The handler reads raw bytes from the request itself and enforces its own limit. */
export const StreamedBody = () => SetMetadata(BODY_OPTIONS, { streamed: true } satisfies BodyOptions);
