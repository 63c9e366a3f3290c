/** The value of a parameter: a list if it is repeated, an object for `name[key]=value`. */
export type QueryValue = string | string[] | Record<string, string | string[]>;

const DEEP = /^([^[\]]+)\[([^[\]]*)\]$/;

/**
 * Parses a query string with repeated parameters and with objects of one level in deepObject style. Keys are not
 * interpreted, not even digits and `__proto__`, so that no filter is lost. Deeper keys keep their brackets, and the
 * parameter is then unknown.
 */
export function parseQuery(text: string | null | undefined): Record<string, QueryValue> {
  const result = emptyRecord<QueryValue>();
  for (const [name, value] of new URLSearchParams(text ?? '')) {
    const [, root, key] = DEEP.exec(name) ?? [];
    if (root === undefined || key === undefined) {
      const known = result[name];
      // With `metadata=x` and `metadata[k]=v` the plain value is kept, which the rule of the field rejects.
      result[name] = typeof known === 'object' && !Array.isArray(known) ? value : added(known, value);
      continue;
    }
    const known = result[root];
    if (known === undefined) result[root] = emptyRecord<string | string[]>();
    const map = result[root];
    if (typeof map === 'object' && !Array.isArray(map)) map[key] = added(map[key], value);
  }
  return result;
}

/** Without a prototype no key has a meaning. */
const emptyRecord = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;

/** Of the parameters of one query, so a list may be changed: a copy for each value would need quadratic time. */
function added(known: string | string[] | undefined, value: string): string | string[] {
  if (known === undefined) return value;
  if (!Array.isArray(known)) return [known, value];
  known.push(value);
  return known;
}
