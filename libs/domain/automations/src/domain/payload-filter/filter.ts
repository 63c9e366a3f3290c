export type Scalar = string | number | boolean | null;

export type JsonObject = Readonly<Record<string, unknown>>;

/** An understood filter. Made by `parsePayloadFilter` only. */
export interface PayloadFilter {
  readonly root: Pattern;
  /** Keys that are decided by a value: what the limit counts. */
  readonly leaves: number;
}

/** What an object must hold: all of it. */
export interface Pattern {
  /** In the order of their keys: the same filter gives the same reasons, however it was stored. */
  readonly clauses: readonly Clause[];
  /** Those of them that fail when their key is missing. */
  readonly required: readonly Clause[];
  /** The others, by their keys. */
  readonly optional: ReadonlyMap<string, Condition>;
}

export interface Clause {
  readonly key: string;
  readonly condition: Condition;
}

export type Condition = ValueCondition | ObjectCondition;

/** What a key's value must be; all operators that are not null hold. */
export interface ValueCondition {
  readonly kind: 'value';
  readonly in: ReadonlySet<unknown> | null;
  readonly notIn: ReadonlySet<unknown> | null;
  readonly exists: boolean | null;
  /** Fails when the key is missing. */
  readonly isRequired: boolean;
}

/** The value is an object, or an array with an object, that the pattern matches. */
export interface ObjectCondition {
  readonly kind: 'object';
  readonly pattern: Pattern;
  readonly isRequired: true;
}

export const OPERATORS = ['in', 'not_in', 'exists'] as const;
export type Operator = (typeof OPERATORS)[number];

/** Keys on the way to the deepest value. */
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
