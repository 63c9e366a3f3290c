import { isStorableText, type Issue, pointerOf } from '#platform/kernel';

const NOT_STORABLE = 'must not contain NUL characters or lone surrogates';

/**
 * Strings and keys that PostgreSQL cannot store unchanged, and keys that JavaScript gives a meaning. Values are at most
 * as deep as the parser lets through, so the recursion is bounded.
 */
export function findUnstorable(value: unknown, pointer = ''): Issue[] {
  if (typeof value === 'string') return isStorableText(value) ? [] : [{ pointer, detail: NOT_STORABLE }];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => findUnstorable(item, pointer + pointerOf(index)));
  return Object.entries(value).flatMap(([key, item]) => {
    if (!isStorableText(key)) return [{ pointer, detail: 'has a key with a NUL character or a lone surrogate' }];
    if (key === '__proto__') return [{ pointer: pointer + pointerOf(key), detail: 'is not a known field' }];
    return findUnstorable(item, pointer + pointerOf(key));
  });
}
