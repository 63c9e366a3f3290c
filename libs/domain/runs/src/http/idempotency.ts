import { createHash } from 'node:crypto';
import { ApiHeader } from '@nestjs/swagger';
import { ProblemError } from '#platform/http';
import { canonicalJson } from '#platform/kernel';
import type { IdempotencyClaim } from '../persistence/run-inserts.js';

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** Documents the header; left to itself the document would call it required. */
export const IdempotencyKeyHeader = (): MethodDecorator =>
  ApiHeader({
    name: IDEMPOTENCY_KEY,
    required: false,
    description:
      'Makes retries safe: the same key and body answer the first run again. 1 to 255 printable ASCII characters.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN.source },
  });

/** The `Idempotency-Key` header with a digest of what it stands for, or null when none was sent. */
export function idempotencyClaim(header: string | undefined, body: unknown): IdempotencyClaim | null {
  if (header === undefined) return null;
  if (!IDEMPOTENCY_KEY_PATTERN.test(header)) {
    throw new ProblemError(
      'invalid_request',
      'The header `Idempotency-Key` must have 1 to 255 printable ASCII characters without spaces.',
      {
        errors: [
          {
            pointer: '/headers/Idempotency-Key',
            detail: 'must have 1 to 255 printable ASCII characters without spaces',
          },
        ],
      },
    );
  }
  // The same request with its keys in another order is the same request.
  return { key: header, requestHash: createHash('sha256').update(canonicalJson(body)).digest() };
}
