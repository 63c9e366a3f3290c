import { SecretRejectedError } from '#platform/secrets';
import { type InvalidInput, invalid } from './webhook-outcomes.js';

/** Runs a transaction that changes a managed secret, which whoever uses it may refuse. */
export async function orSecretRefusal<T>(work: () => Promise<T>): Promise<T | InvalidInput> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SecretRejectedError) return invalid('/secret', error.reason);
    throw error;
  }
}
