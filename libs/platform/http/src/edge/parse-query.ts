/** A parameter's value; a list when it came more than once; an object for `name[key]=value`. */
export type QueryValue = string | string[] | Record<string, string | string[]>;

const DEEP = /^([^[\]]+)\[([^[\]]*)\]$/;

/**
 * A query string as the contract uses it: repeated parameters, and objects of one level in deepObject style. Keys are
 * whatever they are, digits and `__proto__` too: nothing turns into a list or vanishes, so that no filter is lost on the
 * way. What is nested deeper keeps its brackets and is an unknown parameter.
 */
export function parseQuery(text: string | null | undefined): Record<string, QueryValue> {
  const result = emptyRecord<QueryValue>();
  for (const [name, value] of new URLSearchParams(text ?? '')) {
    const [, root, key] = DEEP.exec(name) ?? [];
    if (root === undefined || key === undefined) {
      const known = result[name];
      // `metadata=x` beside `metadata[k]=v`: the plain one is what the field's rule has to refuse.
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

/** Without a prototype: no key means anything. */
const emptyRecord = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;

const added = (known: string | string[] | undefined, value: string): string | string[] =>
  known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value];
