import { isStorableText } from '#platform/kernel';
import {
  type Clause,
  type Condition,
  isObject,
  isOperator,
  type JsonObject,
  MAX_FILTER_DEPTH,
  MAX_FILTER_LEAVES,
  MAX_SET_VALUES,
  type Operator,
  OPERATORS,
  type Pattern,
  type PayloadFilter,
} from './filter.js';
import { bareScalarDetail, setValueDetail, unknownOperatorDetail } from './issue-details.js';
import { nearOperator } from './near-operator.js';

/** What is wrong with a filter. */
export interface FilterIssue {
  /** JSON pointer within the filter, `/data/type/0`. */
  readonly pointer: string;
  /** Continues the sentence that the field's name begins: “must be …”. */
  readonly detail: string;
}

/** What is beyond is told once these are mended. */
const MAX_ISSUES = 20;
const NO_PATTERN: Pattern = { clauses: [], required: [], optional: new Map() };

/** Reads one filter and notes what is wrong with it. Goes no deeper than the limit, whatever it is given. */
export class FilterReader {
  readonly issues: FilterIssue[] = [];
  private leaves = 0;

  read(raw: JsonObject): PayloadFilter {
    const root = this.pattern(raw, '', 1);
    if (this.leaves > MAX_FILTER_LEAVES) {
      // First, so that it is among the issues that are told.
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
      this.note(`${pointer}/exists`, 'must not be false beside `in`: a missing key is none of its values');
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
      const hint = isObject(raw) ? `; ${OPERATORS.join(', ')} are operators where nothing else stands beside them` : '';
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
 * `{"notIn": ["a"]}` would be a payload key called `notIn`, and a filter that never matches. Who means the key writes
 * `{"notIn": {"in": ["a"]}}`, which nobody writes by mistake.
 */
function looksLikeOperator(key: string, value: unknown): boolean {
  const near = nearOperator(key);
  return near !== undefined && (near === 'exists' ? typeof value === 'boolean' : Array.isArray(value));
}

const below = (pointer: string, key: string): string => `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
