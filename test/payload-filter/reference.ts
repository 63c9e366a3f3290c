type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

/**
 * The rules of payload filters as their table has them, one after the other, about sets of values; slow, and without reasons.
 * It shares nothing with what it is compared to: it reads the filter as it was written.
 */
export function referenceMatches(filter: unknown, payload: unknown): boolean {
  const wanted = filter as JsonObject;
  return Object.keys(wanted).length === 0 || anyObjectMatches(wanted, [payload as Json]);
}

/** One of these values, or one of the elements of an array among them, is an object with all that is wanted. */
function anyObjectMatches(wanted: JsonObject, found: readonly Json[]): boolean {
  const objects = found.flatMap(elements).filter(isObject);
  return objects.some((object) => Object.entries(wanted).every(([key, rule]) => holds(rule, valuesAt(object, key))));
}

function holds(rule: Json, found: readonly Json[]): boolean {
  if (Array.isArray(rule)) return isAmong(found, rule);
  const object = rule as JsonObject;
  const names = Object.keys(object);
  if (names.length === 0 || names.some((name) => !['in', 'not_in', 'exists'].includes(name))) {
    return anyObjectMatches(object, found);
  }
  return names.every((name) => {
    const operand = object[name];
    if (name === 'exists') return found.length > 0 === operand;
    return isAmong(found, operand as readonly Json[]) === (name === 'in');
  });
}

/** None when the key is missing. Own properties only. */
const valuesAt = (object: JsonObject, key: string): readonly Json[] =>
  Object.entries(object).flatMap(([name, value]) => (name === key ? [value] : []));

const elements = (value: Json): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [value]);

const isObject = (value: Json): value is JsonObject => Object.prototype.toString.call(value) === '[object Object]';

const isAmong = (found: readonly Json[], set: readonly Json[]): boolean =>
  found.flatMap(elements).some((value) => set.some((allowed) => value === allowed));
