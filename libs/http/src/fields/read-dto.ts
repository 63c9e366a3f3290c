import { validateSync, type ValidationError } from 'class-validator';
import type { Issue } from '../problems/problem-error.js';
import { fieldsOf, issuesOf } from './field.js';
import { below, type Source, token } from './kind.js';

export type DtoClass<T extends object = object> = new () => T;

/** Keys that the class does not declare, per instance: found while reading, reported by the check. */
const unknownKeys = new WeakMap<object, string[]>();

/**
 * An instance with exactly the declared fields. Only own keys of the input are looked at and only declared names are
 * ever assigned, so `__proto__` or `constructor` in the input are unknown keys like any other.
 */
export function readDto<T extends object>(dto: DtoClass<T>, raw: Record<string, unknown>, source: Source): T {
  const instance = new dto();
  const fields = fieldsOf(dto);
  const target = instance as Record<string, unknown>;
  for (const key of Object.keys(raw)) {
    const kind = fields.get(key);
    if (kind) target[key] = kind.read(raw[key], source);
  }
  const unknown = Object.keys(raw).filter((key) => !fields.has(key));
  if (unknown.length > 0) unknownKeys.set(instance, unknown);
  return instance;
}

/** Everything that is wrong with an instance made by {@link readDto}. */
export function checkDto(instance: object): Issue[] {
  const unknown = (unknownKeys.get(instance) ?? []).map((key): Issue => ({
    pointer: token(key),
    detail: 'is not a known field',
  }));
  const errors = validateSync(instance, {
    forbidUnknownValues: false,
    validationError: { target: false, value: false },
  });
  return [...unknown, ...errors.flatMap((error) => issuesOfError(instance, error))];
}

function issuesOfError(instance: object, error: ValidationError): Issue[] {
  const { field, ...others } = error.constraints ?? {};
  if (field !== undefined)
    return below(error.property, issuesOf(instance, error.property) ?? [{ pointer: '', detail: field }]);
  const [first] = Object.values(others);
  return first === undefined ? [] : below(error.property, [{ pointer: '', detail: first }]);
}
