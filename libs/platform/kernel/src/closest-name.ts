import { nearMisses } from './near-misses.js';

/** The known name that was probably meant, for "did you mean": the best of its near misses. */
export function closestName(wanted: string, known: readonly string[]): string | undefined {
  return nearMisses(wanted, known)[0];
}
