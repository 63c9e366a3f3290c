import { createRequire } from 'node:module';
import type * as ClassValidator from 'class-validator';
import { type Issue, pointerOf } from '#platform/kernel';
import { type Field, fieldsOf } from './field.js';
import { below, type Source, wrong } from './kind.js';
import { unknownField } from './unknown-field.js';

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
  const unknown: string[] = [];
  for (const key of Object.keys(raw)) {
    const field = fields.get(key);
    if (field) target[key] = field.kind.read(raw[key], source);
    else unknown.push(key);
  }
  if (unknown.length > 0) unknownKeys.set(instance, unknown);
  return instance;
}

/** Everything that is wrong with an instance made by {@link readDto}. */
export function checkDto(instance: object): Issue[] {
  const dto = instance.constructor as DtoClass;
  const issues = (unknownKeys.get(instance) ?? []).map((key) => unknownField(key, fieldsOf(dto).keys()));
  for (const [key, field] of fieldsOf(dto))
    issues.push(...below(key, checkField(field, (instance as Record<string, unknown>)[key])));
  return hasForeignRules(dto) ? [...issues, ...foreignIssues(instance, issues)] : issues;
}

function checkField({ kind, optional, nullable }: Field, value: unknown): Issue[] {
  if (value === undefined) return optional ? [] : wrong('is required');
  return value === null && nullable ? [] : kind.check(value);
}

const load = createRequire(import.meta.url);

/**
 * class-validator once somebody's decorators have put rules there, or null. It is loaded by those who use it only: the
 * hundreds of modules that it consists of would take a twentieth of the start of every process.
 */
function classValidator(): typeof ClassValidator | null {
  return 'classValidatorMetadataStorage' in globalThis ? (load('class-validator') as typeof ClassValidator) : null;
}

const foreign = new WeakMap<DtoClass, boolean>();

/** Whether decorators of class-validator stand beside ours; asking it costs more than all of our checks. */
function hasForeignRules(dto: DtoClass): boolean {
  const known =
    foreign.get(dto) ??
    (classValidator()?.getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false) ?? []).length > 0;
  foreign.set(dto, known);
  return known;
}

/** What class-validator says about fields that our own rules let pass, and that are there. */
function foreignIssues(instance: object, issues: readonly Issue[]): Issue[] {
  const errors = classValidator()?.validateSync(instance, {
    skipUndefinedProperties: true,
    validationError: { target: false, value: false },
  });
  return (errors ?? []).flatMap(({ property, constraints }) => {
    const [message] = Object.values(constraints ?? {});
    const isKnown = issues.some(
      ({ pointer }) => pointer === pointerOf(property) || pointer.startsWith(`${pointerOf(property)}/`),
    );
    return message === undefined || isKnown ? [] : below(property, wrong(message));
  });
}
