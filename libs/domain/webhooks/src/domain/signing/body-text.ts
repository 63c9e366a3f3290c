import { isObject, parseJson } from '#platform/kernel';

/**
 * The string or number at a path of own properties of a JSON value; null when it is missing or empty, or when JavaScript has
 * lost digits of the number, so that two numbers would be equal.
 */
export function textAt(json: unknown, path: readonly string[]): string | null {
  let value = json;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The body with a value at a path of keys, as JSON; null when it is not a JSON object. Only for requests that we sign. */
export function bodyWith(body: Buffer, path: readonly string[], value: string | number): Buffer | null {
  const root = parseJson(body.toString('utf8'));
  if (!isObject(root)) return null;
  let place = root;
  for (const key of path.slice(0, -1)) {
    const next = Object.hasOwn(place, key) ? place[key] : undefined;
    place = define(place, key, isObject(next) ? next : {});
  }
  define(place, path.at(-1) ?? '', value);
  return Buffer.from(JSON.stringify(root));
}

function define<T>(place: Record<string, unknown>, key: string, value: T): T {
  Object.defineProperty(place, key, { value, enumerable: true, configurable: true, writable: true });
  return value;
}
