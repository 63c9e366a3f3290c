import { ProblemError } from '#platform/http';
import { ObjectTooLargeError } from '../object-store.js';

/** Rejects with 413 when the object is too large. `what`: the object, as the beginning of the sentence. */
export async function limited<T>(what: string, storing: Promise<T>): Promise<T> {
  try {
    return await storing;
  } catch (error) {
    if (!(error instanceof ObjectTooLargeError)) throw error;
    throw new ProblemError('payload_too_large', `${what} may have at most ${error.maxBytes} bytes.`, { cause: error });
  }
}
