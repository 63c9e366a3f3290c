/** A payload filter as rows of a form. See docs/webhooks/payload-filters.md for its language. */
export type Operator = 'in' | 'not_in' | 'exists' | 'missing' | 'object' | 'group';

export interface Clause {
  readonly id: number;
  /** Keys with dots between them, such as `issue.labels.name`; a dot of a key is written as `\.`. */
  readonly field: string;
  readonly operator: Operator;
  /** Of `in` and `not_in`: values with commas between them. */
  readonly values: string;
  /** Of `group`: all of them match within one object of the field. */
  readonly clauses: readonly Clause[];
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Filter = { readonly [key: string]: Json };

let lastId = 0;
export const newClause = (fields: Partial<Omit<Clause, 'id'>> = {}): Clause => {
  lastId += 1;
  return { id: lastId, field: '', operator: 'in', values: '', clauses: [], ...fields };
};

const MISSING = { exists: false };
const OPERATORS = new Set(['in', 'not_in', 'exists']);
const isObject = (value: Json | undefined): value is Filter =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOperators = (value: Filter): boolean => {
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => OPERATORS.has(key));
};

const escaped = (key: string): string => key.replaceAll(/[\\.]/g, '\\$&');
function keysOf(field: string): string[] {
  const keys: string[] = [''];
  for (const [part] of field.matchAll(/\\.|[^\\]|\\$/g))
    if (part === '.') keys.push('');
    else keys[keys.length - 1] += part.length === 2 ? part.slice(1) : part;
  return keys;
}

/** Values with commas between them. Text that could be something else is written as JSON. */
export function writeValues(values: readonly Json[]): string {
  return values
    .map((value) => {
      if (typeof value !== 'string') return JSON.stringify(value);
      return value === '' || /[",]|^\s|\s$/.test(value) || isLiteral(value) ? JSON.stringify(value) : value;
    })
    .join(', ');
}

function isLiteral(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function readValues(text: string): Json[] {
  return [...text.matchAll(/\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,|$)/g)]
    .map(([, value = '']) => value.trim())
    .filter((value) => value !== '')
    .map((value) => (isLiteral(value) ? (JSON.parse(value) as Json) : value));
}

/** The clauses of a filter. Null: it has something that the form cannot show. */
export function toClauses(filter: Json): Clause[] | null {
  if (!isObject(filter)) return null;
  const clauses: Clause[] = [];
  for (const [key, value] of Object.entries(filter)) {
    const found = clausesOf(escaped(key), value);
    if (found === null) return null;
    clauses.push(...found);
  }
  return clauses;
}

function clausesOf(field: string, value: Json): Clause[] | null {
  if (Array.isArray(value)) return [newClause({ field, values: writeValues(value as readonly Json[]) })];
  if (!isObject(value)) return null;
  if (Object.keys(value).length === 0) return [newClause({ field, operator: 'object' })];
  if (!isOperators(value)) {
    const clauses = toClauses(withoutMarker(value));
    const [only] = clauses ?? [];
    if (clauses?.length !== 1 || only === undefined)
      return clauses && [newClause({ field, operator: 'group', clauses })];
    return [{ ...only, field: `${field}.${only.field}` }];
  }
  const clauses: Clause[] = [];
  for (const [operator, operand] of Object.entries(value)) {
    if (operator === 'exists') {
      if (typeof operand !== 'boolean') return null;
      clauses.push(newClause({ field, operator: operand ? 'exists' : 'missing' }));
    } else {
      if (!Array.isArray(operand)) return null;
      clauses.push(
        newClause({ field, operator: operator as Operator, values: writeValues(operand as readonly Json[]) }),
      );
    }
  }
  return clauses;
}

/** `write` adds it again. */
function withoutMarker(value: Filter): Filter {
  const { '': marker, ...rest } = value;
  return isOperators(rest) && JSON.stringify(marker) === JSON.stringify(MISSING) ? rest : value;
}

type Tree = Map<string, Tree | Leaf>;
interface Leaf {
  readonly operators: Map<string, Json>;
}
const isLeaf = (node: Tree | Leaf): node is Leaf => 'operators' in node;

/** The filter of these clauses. Throws an error with a sentence for the user. */
export function toFilter(clauses: readonly Clause[]): Filter {
  const tree: Tree = new Map();
  add(tree, clauses);
  return write(tree, true);
}

function add(tree: Tree, clauses: readonly Clause[]): void {
  for (const clause of clauses) {
    const keys = keysOf(clause.field);
    const last = keys.pop() ?? '';
    if (clause.field === '') throw new Error('A condition has no field.');
    let node = tree;
    for (const key of keys) node = descend(node, key, clause.field);
    if (clause.operator === 'group' || clause.operator === 'object') {
      const inner = descend(node, last, clause.field);
      if (clause.operator === 'group') {
        if (clause.clauses.length === 0) throw new Error(`The group ${clause.field} has no condition.`);
        add(inner, clause.clauses);
      }
      continue;
    }
    const known = node.get(last);
    if (known !== undefined && !isLeaf(known)) throw conflict(clause.field);
    const leaf = known ?? { operators: new Map<string, Json>() };
    const [name, operand] = operationOf(clause);
    if (leaf.operators.has(name)) throw conflict(clause.field);
    leaf.operators.set(name, operand);
    node.set(last, leaf);
  }
}

function descend(node: Tree, key: string, field: string): Tree {
  const known = node.get(key);
  if (known !== undefined && isLeaf(known)) throw conflict(field);
  if (known !== undefined) return known;
  const inner: Tree = new Map();
  node.set(key, inner);
  return inner;
}

function operationOf({ field, operator, values }: Clause): readonly [string, Json] {
  if (operator === 'exists' || operator === 'missing') return ['exists', operator === 'exists'];
  const read = readValues(values);
  if (read.length === 0) throw new Error(`The condition of ${field} has no value.`);
  return [operator, read];
}

const conflict = (field: string): Error =>
  new Error(`Two conditions of ${field} exclude each other. Put all values into one condition.`);

function write(tree: Tree, isTop: boolean): Filter {
  const entries = [...tree].map(([key, node]): [string, Json] => {
    if (!isLeaf(node)) return [key, write(node, false)];
    const [first] = node.operators;
    return [key, node.operators.size === 1 && first?.[0] === 'in' ? first[1] : Object.fromEntries(node.operators)];
  });
  const filter = Object.fromEntries(entries);
  // Keys of a payload that are named like operators need another key beside them.
  return !isTop && isOperators(filter) ? { ...filter, '': MISSING } : filter;
}
