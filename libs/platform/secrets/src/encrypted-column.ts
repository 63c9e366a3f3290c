import { escapeToken } from '#platform/kernel';

/**
 * A column whose values are encrypted. Each library declares its columns as data and exports them in a list; sealing,
 * opening and the change of the key read the same declaration. `table`, `column` and the names of `context` become SQL:
 * they are constants of the code.
 */
export interface EncryptedColumn<Context extends string = string> {
  readonly table: string;
  readonly key: { readonly column: string; readonly type: 'text' | 'uuid' | 'bigint' };
  /** Columns that `purpose` reads. */
  readonly context: readonly Context[];
  /** A column of type text that is one sealed value, or of type jsonb with `json`. */
  readonly column: string;
  readonly json?: EncryptedJson;
  /**
   * What a value is sealed for: authenticated, not stored. It must be different for every value of the installation, so
   * that a value that is copied to another row does not open there. `pointer` names the value in the JSON document.
   */
  purpose(context: Readonly<Record<Context, string>>, pointer: string): string;
}

/** Which strings of a JSON document are sealed. */
export interface EncryptedJson {
  /** The key of the column's object that holds the document; absent: the column is the document. */
  readonly path?: string;
  /** Paths of the sealed strings in the document; `*` matches every key: `['*', 'env', '*']`. */
  readonly values: readonly (readonly string[])[];
  /** Begins every sealed string. A string without it is in clear: it was written before the column was encrypted. */
  readonly prefix?: string;
}

/** Checks the names of the context columns against what `purpose` reads. */
export const encryptedColumn = <const Context extends string>(
  column: EncryptedColumn<Context>,
): EncryptedColumn<Context> => column;

/** What is stored, or is to be stored, with every value replaced that is sealed in the table. */
export function mapValues<Context extends string>(
  column: EncryptedColumn<Context>,
  stored: unknown,
  context: Readonly<Record<Context, string>>,
  change: (value: string, purpose: string) => string,
): unknown {
  const changed = (value: string, pointer: string): string => change(value, column.purpose(context, pointer));
  if (column.json) return mapStrings(stored, column.json.values, '', changed);
  return typeof stored === 'string' ? changed(stored, '') : stored;
}

/** Applies `change` to the sealed text behind the prefix of the column; a value in clear stays. */
export function onSealed(
  { json }: EncryptedColumn,
  change: (sealed: string, purpose: string) => string,
  { keepsPrefix }: { readonly keepsPrefix: boolean },
): (value: string, purpose: string) => string {
  const prefix = json?.prefix ?? '';
  return (value, purpose) => {
    if (!value.startsWith(prefix)) return value;
    return (keepsPrefix ? prefix : '') + change(value.slice(prefix.length), purpose);
  };
}

/** A copy of the document in which every string at one of the paths is replaced. */
function mapStrings(
  node: unknown,
  paths: readonly (readonly string[])[],
  pointer: string,
  change: (value: string, pointer: string) => string,
): unknown {
  if (typeof node === 'string') return paths.some((path) => path.length === 0) ? change(node, pointer) : node;
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const below = paths.filter(([first]) => first === '*' || first === key).map((path) => path.slice(1));
      return [key, below.length === 0 ? value : mapStrings(value, below, `${pointer}/${escapeToken(key)}`, change)];
    }),
  );
}
