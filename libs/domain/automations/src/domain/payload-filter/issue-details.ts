import { isStorableText } from '#platform/kernel';
import { isOperator, isScalar, type Operator } from './filter.js';
import { nearOperator } from './near-operator.js';
import { preview } from './preview.js';

/** `siblings`: all keys of the object that the key is in. */
export function bareScalarDetail(
  key: string,
  value: unknown,
  { isTop, siblings }: { isTop: boolean; siblings: readonly string[] },
): string {
  const shown = isScalar(value) ? `[${preview(value)}]` : '["value"]';
  const advice = `must be an array of the values that are allowed: use an array, ${shown}`;
  if (isOperator(key)) {
    const other = siblings.find((sibling) => !isOperator(sibling));
    const why = isTop ? 'at the top of a filter' : `beside ${preview(other ?? '')}`;
    return `${advice}; ${why} \`${key}\` is a key of the payload, no operator`;
  }
  const near = isTop ? undefined : nearOperator(key);
  return near === undefined ? advice : `${advice}; if it should be an operator, did you mean \`${near}\`?`;
}

export function unknownOperatorDetail(key: string, near: Operator): string {
  const meant = `is no operator: did you mean \`${near}\`?`;
  if (near === 'exists') return meant;
  return `${meant} For a key of the payload with this name write {${preview(key)}: {"in": […]}}`;
}

/** What is wrong with a value of `in` or `not_in`. */
export function setValueDetail(value: unknown): string | undefined {
  if (!isScalar(value)) return 'must be a string, a number, true, false or null';
  if (typeof value === 'string' && !isStorableText(value)) return 'must not contain NUL characters or lone surrogates';
  // JSON.parse makes Infinity of 1e999, which would be stored as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must be a number of at most 1.7976931348623157e308';
  return undefined;
}
