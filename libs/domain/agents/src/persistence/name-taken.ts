import { sqlState, UNIQUE_VIOLATION } from '#platform/persistence';

/**
 * For writes whose only unique thing, besides random uids, is the name in its team: says so where another row of the
 * team has it.
 */
export async function refuseTakenName<T>(work: () => Promise<T>): Promise<T | { readonly kind: 'name_taken' }> {
  try {
    return await work();
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'name_taken' };
    throw error;
  }
}
