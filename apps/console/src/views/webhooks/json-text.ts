const MAX_INDENT = 40;
/** Browsers need seconds for a text of many megabytes. */
const MAX_TEXT = 1_000_000;

/** JSON with line breaks and indentation, unless that is too long. Only white space changes: numbers stay as they were sent. */
export function indentJson(text: string): string {
  let result = '';
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  // Strings, white space, an empty object or array, a bracket, a separator, or anything else.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|\s+|[{[]\s*[}\]]|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    const first = token.charAt(0);
    if (token.length > 1 && (first === '{' || first === '[')) result += `${first}${token.at(-1) ?? ''}`;
    else if (first === '{' || first === '[') {
      depth += 1;
      result += token + newLine();
    } else if (first === '}' || first === ']') {
      depth = Math.max(0, depth - 1);
      result += newLine() + token;
    } else if (first === ',') result += token + newLine();
    else if (first === ':') result += ': ';
    else if (token.trim() !== '') result += token;
    if (result.length > MAX_TEXT) return text;
  }
  return result;
}

/** A way to a value of a payload, as keys and positions. */
export interface PayloadValue {
  readonly keys: readonly (string | number)[];
  readonly value: unknown;
}

const MAX_VALUES = 60;
const MAX_DEPTH = 8;

/** The scalars of a payload, for suggestions: of an array only the first element. */
export function scalarsOf(payload: unknown): PayloadValue[] {
  const found: PayloadValue[] = [];
  const walk = (value: unknown, keys: readonly (string | number)[]): void => {
    if (found.length >= MAX_VALUES || keys.length > MAX_DEPTH) return;
    if (Array.isArray(value)) {
      if (value.length > 0) walk(value[0], [...keys, 0]);
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) walk(inner, [...keys, key]);
    else if (keys.length > 0) found.push({ keys, value });
  };
  walk(payload, []);
  return found;
}

/** As prompts of automations refer to a value. */
export const placeholderOf = (keys: readonly (string | number)[]): string =>
  `{{ payload${keys
    .map((key) =>
      typeof key === 'number' ? `[${key}]` : /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    )
    .join('')} }}`;
