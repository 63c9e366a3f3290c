/** Keys that a run may carry. */
export const MAX_METADATA_KEYS = 20;

export type Metadata = Readonly<Record<string, string>>;

/**
 * Labels of a new run: the request's win over the parent's, those over what the platform stamps. Null when there are
 * none; `too_many` when they are more than a run may carry.
 */
export function mergeMetadata(
  request: Metadata | null,
  parent: Metadata | null,
  automatic: Metadata | null,
): Metadata | 'too_many' | null {
  const merged = { ...automatic, ...parent, ...request };
  const count = Object.keys(merged).length;
  if (count > MAX_METADATA_KEYS) return 'too_many';
  return count === 0 ? null : merged;
}
