export type Scalar = string | number | boolean | null;

export type JsonObject = Readonly<Record<string, unknown>>;

/** A parsed filter, created by `parsePayloadFilter` only. */
export interface PayloadFilter {
  readonly root: Pattern;
  /** Keys with values, which the limit counts. */
  readonly leaves: number;
}

/** The clauses that an object must satisfy, all of them. */
export interface Pattern {
  /** Sorted by key, so that equal filters have equal reasons. */
  readonly clauses: readonly Clause[];
  /** The clauses that fail when their key is missing. */
  readonly required: readonly Clause[];
  readonly optional: ReadonlyMap<string, Condition>;
}

export interface Clause {
  readonly key: string;
  readonly condition: Condition;
}

export type Condition = ValueCondition | ObjectCondition;

/** The condition of a value; all operators that are not null must be satisfied. */
export interface ValueCondition {
  readonly kind: 'value';
  readonly in: ReadonlySet<unknown> | null;
  readonly notIn: ReadonlySet<unknown> | null;
  readonly exists: boolean | null;
  /** Fails when the key is missing. */
  readonly isRequired: boolean;
}

/** The pattern must match the value, or an object in the array. */
export interface ObjectCondition {
  readonly kind: 'object';
  readonly pattern: Pattern;
  readonly isRequired: true;
}

export const OPERATORS = ['in', 'not_in', 'exists'] as const;
export type Operator = (typeof OPERATORS)[number];

/** Number of keys on the path to the deepest value. */
export const MAX_FILTER_DEPTH = 10;
export const MAX_FILTER_LEAVES = 64;
export const MAX_SET_VALUES = 32;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

export function isOperator(key: string): key is Operator {
  return key === 'in' || key === 'not_in' || key === 'exists';
}
