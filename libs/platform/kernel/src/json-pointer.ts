/** A key as a reference token of a JSON pointer (RFC 6901). */
export const escapeToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The pointer of a path: `pointerOf('env', 'a/b')` is `/env/a~1b`. */
export const pointerOf = (...path: readonly (string | number)[]): string =>
  path.map((key) => `/${escapeToken(String(key))}`).join('');

/** The path that a pointer names. */
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
