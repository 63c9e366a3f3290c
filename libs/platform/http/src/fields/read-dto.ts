import { closestName, type Issue, pointerOf } from '#platform/kernel';
import { below, type Field, fieldsOf, type Source, wrong } from './field.js';

export type DtoClass<T extends object = object> = new () => T;

/** Unknown keys by instance: collected by `readDto`, reported by `checkDto`. */
const unknownKeys = new WeakMap<object, string[]>();

/**
 * An instance with exactly the declared fields. Only own keys of the input are read and only declared names are assigned,
 * so `__proto__` and `constructor` in the input are unknown keys like any other.
 */
export function readDto<T extends object>(dto: DtoClass<T>, raw: Record<string, unknown>, source: Source): T {
  const instance = new dto();
  const fields = fieldsOf(dto);
  const target = instance as Record<string, unknown>;
  const unknown: string[] = [];
  for (const key of Object.keys(raw)) {
    const field = fields.get(key);
    if (field) target[key] = field.kind.read(raw[key], source);
    else unknown.push(key);
  }
  if (unknown.length > 0) unknownKeys.set(instance, unknown);
  return instance;
}

/** All issues of an instance that {@link readDto} created. */
export function checkDto(instance: object): Issue[] {
  const dto = instance.constructor as DtoClass;
  const issues = (unknownKeys.get(instance) ?? []).map((key) => unknownField(key, fieldsOf(dto).keys()));
  for (const [key, field] of fieldsOf(dto))
    issues.push(...below(key, checkField(field, (instance as Record<string, unknown>)[key])));
  return issues;
}

function checkField({ kind, optional, nullable }: Field, value: unknown): Issue[] {
  if (value === undefined) return optional ? [] : wrong('is required');
  return value === null && nullable ? [] : kind.check(value);
}

/** The issue of an unknown body field or query parameter, with the known name that is closest to it. */
export function unknownField(name: string, known: Iterable<string>): Issue {
  const meant = closestName(name, [...known]);
  const hint = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
  return { pointer: pointerOf(name), detail: `is not a known field${hint}` };
}

const optional = new WeakSet<DtoClass>();

/** Marks a DTO for which an absent body means `{}`. Document it with `@ApiBody({ type, required: false })`. */
export function optionalBody(dto: DtoClass): void {
  optional.add(dto);
}

export const isOptionalBody = (dto: DtoClass): boolean => optional.has(dto);
