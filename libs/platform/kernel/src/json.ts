/** A key as a reference token of a JSON pointer (RFC 6901). */
export const escapeToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The pointer of a path: `pointerOf('env', 'a/b')` is `/env/a~1b`. */
export const pointerOf = (...path: readonly (string | number)[]): string =>
  path.map((key) => `/${escapeToken(String(key))}`).join('');

export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A pointer as public text spells a field: `/config/skills/0` is `config.skills[0]`. */
export const fieldName = (pointer: string): string =>
  parsePointer(pointer).reduce((name, key) => {
    if (name === '') return key;
    return /^\d+$/.test(key) ? `${name}[${key}]` : `${name}.${key}`;
  }, '');

/** The value that a pointer names; undefined where there is none. */
export const valueAt = (document: unknown, pointer: string): unknown =>
  parsePointer(pointer).reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Readonly<Record<string, unknown>>)[key]
        : undefined,
    document,
  );

/** JSON with the keys of objects in order, so that equal values have equal texts. Undefined is absent. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (isObject(part) ? ordered(part) : part)) ?? 'null';
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Entries instead of assignments: `__proto__` is a key like any other. */
const ordered = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Whether a parsed JSON value nests deeper than `limit`; walks without recursion, so no input overflows the stack. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let level: object[] = typeof value === 'object' && value !== null ? [value] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > limit) return true;
    const next: object[] = [];
    for (const node of level) {
      for (const child of Object.values(node) as unknown[]) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return false;
}

/** The value of a JSON text; undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
