import {
  type Clause,
  type Condition,
  isObject,
  isOperator,
  isScalar,
  type JsonObject,
  MAX_FILTER_DEPTH,
  MAX_FILTER_LEAVES,
  MAX_SET_VALUES,
  type Operator,
  OPERATORS,
  type Pattern,
  type PayloadFilter,
} from './filter.js';
import { editDistance, isStorableText, type Issue, pointerOf, type RejectionOf } from '#platform/kernel';
import { preview } from './preview.js';

/** Of an invalid filter at least one issue and at most 20. */
export type ParsedFilter = { readonly kind: 'valid'; readonly filter: PayloadFilter } | RejectionOf<'invalid'>;

/** Never throws. Only own properties count, with any name. */
export function parsePayloadFilter(raw: unknown): ParsedFilter {
  if (!isObject(raw)) {
    const detail = 'must be an object: keys of the payload, each with its allowed values';
    return { kind: 'invalid', issues: [{ pointer: '', detail }] };
  }
  const reader = new FilterReader();
  const filter = reader.read(raw);
  return reader.issues.length === 0 ? { kind: 'valid', filter } : { kind: 'invalid', issues: reader.issues };
}

/** Further issues are reported after these are fixed. */
const MAX_ISSUES = 20;
const NO_PATTERN: Pattern = { clauses: [], required: [], optional: new Map() };

export class FilterReader {
  readonly issues: Issue[] = [];
  private leaves = 0;

  read(raw: JsonObject): PayloadFilter {
    const root = this.pattern(raw, '', 1);
    if (this.leaves > MAX_FILTER_LEAVES) {
      // First, so that it is among the reported issues.
      this.issues.unshift({
        pointer: '',
        detail: `must not exceed ${MAX_FILTER_LEAVES} keys with values, and has ${this.leaves}`,
      });
      this.issues.splice(MAX_ISSUES);
    }
    return { root, leaves: this.leaves };
  }

  /** `depth` is that of the object's keys; the filter's own have 1. */
  private pattern(object: JsonObject, pointer: string, depth: number): Pattern {
    const keys = Object.keys(object).sort();
    if (depth > MAX_FILTER_DEPTH) {
      this.note(pointer, `must be an array or {}: a filter is at most ${MAX_FILTER_DEPTH} keys deep`);
      return NO_PATTERN;
    }
    const clauses: Clause[] = [];
    for (const key of keys) {
      const at = below(pointer, key);
      const value = object[key];
      if (!isStorableText(key)) this.note(at, 'must not have NUL characters or lone surrogates in its name');
      if (!Array.isArray(value) && !isObject(value)) {
        this.leaves += 1;
        this.note(at, bareScalarDetail(key, value, { isTop: depth === 1, siblings: keys }));
      } else clauses.push({ key, condition: this.condition(value, at, depth + 1) });
    }
    return {
      clauses,
      required: clauses.filter(({ condition }) => condition.isRequired),
      optional: new Map(
        clauses.filter(({ condition }) => !condition.isRequired).map(({ key, condition }) => [key, condition]),
      ),
    };
  }

  private condition(value: readonly unknown[] | JsonObject, pointer: string, depth: number): Condition {
    if (Array.isArray(value)) {
      this.leaves += 1;
      return { kind: 'value', in: this.set(value, pointer), notIn: null, exists: null, isRequired: true };
    }
    const object = value as JsonObject;
    const keys = Object.keys(object);
    if (keys.length > 0 && keys.every((key) => isOperator(key) || looksLikeOperator(key, object[key]))) {
      this.leaves += 1;
      return this.operators(object, pointer);
    }
    if (keys.length === 0) this.leaves += 1;
    return {
      kind: 'object',
      pattern: keys.length === 0 ? NO_PATTERN : this.pattern(object, pointer, depth),
      isRequired: true,
    };
  }

  private operators(object: JsonObject, pointer: string): Condition {
    for (const key of Object.keys(object)) {
      const near = isOperator(key) ? undefined : nearOperator(key);
      if (near !== undefined) this.note(below(pointer, key), unknownOperatorDetail(key, near));
    }
    const has = (operator: Operator): boolean => Object.hasOwn(object, operator);
    const allowed = has('in') ? this.set(object.in, `${pointer}/in`) : null;
    const refused = has('not_in') ? this.set(object.not_in, `${pointer}/not_in`) : null;
    const exists = has('exists') && typeof object.exists === 'boolean' ? object.exists : null;
    if (has('exists') && exists === null) this.note(`${pointer}/exists`, 'must be true or false');
    if (exists === false && allowed !== null) {
      this.note(`${pointer}/exists`, 'must not be false beside `in`: a missing key has none of its values');
    }
    if (allowed !== null && Array.isArray(object.not_in)) {
      object.not_in.slice(0, MAX_SET_VALUES).forEach((value, index) => {
        if (allowed.has(value)) this.note(`${pointer}/not_in/${index}`, 'must not be in `in` too');
      });
    }
    return {
      kind: 'value',
      in: allowed,
      notIn: refused,
      exists,
      isRequired: allowed !== null || exists === true,
    };
  }

  private set(raw: unknown, pointer: string): ReadonlySet<unknown> {
    if (!Array.isArray(raw)) {
      const hint = isObject(raw) ? `; ${OPERATORS.join(', ')} are operators only without other keys beside them` : '';
      this.note(pointer, `must be an array of values${hint}`);
      return new Set();
    }
    const values: readonly unknown[] = raw;
    if (values.length === 0) this.note(pointer, 'must have at least one value');
    if (values.length > MAX_SET_VALUES) {
      this.note(pointer, `must not exceed ${MAX_SET_VALUES} values, and has ${values.length}`);
    }
    values.slice(0, MAX_SET_VALUES).forEach((value, index) => {
      const detail = setValueDetail(value);
      if (detail !== undefined) this.note(`${pointer}/${index}`, detail);
    });
    return new Set(values);
  }

  private note(pointer: string, detail: string): void {
    if (this.issues.length < MAX_ISSUES) this.issues.push({ pointer, detail });
  }
}

/**
 * `{"notIn": ["a"]}` would be a payload key `notIn`, and the filter would never match. A filter for that key is
 * `{"notIn": {"in": ["a"]}}`, which is not written by mistake.
 */
function looksLikeOperator(key: string, value: unknown): boolean {
  const near = nearOperator(key);
  return near !== undefined && (near === 'exists' ? typeof value === 'boolean' : Array.isArray(value));
}

const below = (pointer: string, key: string): string => pointer + pointerOf(key);

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

export function setValueDetail(value: unknown): string | undefined {
  if (!isScalar(value)) return 'must be a string, a number, true, false or null';
  if (typeof value === 'string' && !isStorableText(value)) return 'must not contain NUL characters or lone surrogates';
  // JSON.parse returns Infinity for 1e999, which would be stored as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must be a number of at most 1.7976931348623157e308';
  return undefined;
}

/** Compared by letters only, so that `notIn`, `not-in` and `$in` resemble an operator. */
const SPELLINGS: Readonly<Record<Operator, readonly string[]>> = {
  in: ['in', 'inn', 'iin'],
  not_in: ['notin', 'nin', 'isnotin'],
  exists: ['exists', 'exist', 'existing'],
};
/** `in` is too short for misspellings: `id`, `is` and `on` are common payload keys. */
const MISSPELLABLE: readonly Operator[] = ['not_in', 'exists'];
const MAX_LENGTH = 16;

export function nearOperator(key: string): Operator | undefined {
  if (key.length > MAX_LENGTH) return undefined;
  const word = key.toLowerCase();
  const letters = [...word].filter((letter) => letter >= 'a' && letter <= 'z').join('');
  const spelled = OPERATORS.find((operator) => SPELLINGS[operator].includes(letters));
  return spelled ?? MISSPELLABLE.find((operator) => editDistance(word, operator) <= 1);
}
