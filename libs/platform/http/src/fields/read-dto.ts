import { createRequire } from 'node:module';
import type * as ClassValidator from 'class-validator';
import { closestName, type Issue, pointerOf } from '#platform/kernel';
import { below, type Field, fieldsOf, type Source, wrong } from './field.js';

export type DtoClass<T extends object = object> = new () => T;

/** More than are ever reported: a body can have hundreds of thousands. */
const MAX_UNKNOWN = 1_000;
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
    if (!field) {
      if (unknown.length < MAX_UNKNOWN) unknown.push(key);
      continue;
    }
    const value = field.kind.read(raw[key], source);
    if (value !== undefined) target[key] = value;
  }
  if (unknown.length > 0) unknownKeys.set(instance, unknown);
  return instance;
}

/** All issues of an instance that {@link readDto} created. */
export function checkDto(instance: object): InputIssue[] {
  const dto = instance.constructor as DtoClass;
  const unknown = ignoresUnknownFields(dto) ? [] : (unknownKeys.get(instance) ?? []);
  const issues: InputIssue[] = unknown.map((key) => unknownField(key, fieldsOf(dto).keys()));
  for (const [key, field] of fieldsOf(dto))
    for (const issue of below(key, checkField(field, (instance as Record<string, unknown>)[key]))) issues.push(issue);
  return hasClassValidatorRules(dto) ? [...issues, ...classValidatorIssues(instance, issues)] : issues;
}

function checkField({ kind, optional, nullable }: Field, value: unknown): Issue[] {
  if (value === undefined) return optional ? [] : wrong('is required');
  return value === null && nullable ? [] : kind.check(value);
}

/** `hint`: completes the detail. It takes time to find, and most issues of a body with very many are not reported. */
export interface InputIssue extends Issue {
  readonly hint?: () => string;
}

/** The issue of an unknown body field or query parameter, with the known name that is closest to it. */
export function unknownField(name: string, known: Iterable<string>): InputIssue {
  const hint = (): string => {
    const meant = closestName(name, [...known]);
    return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
  };
  return { pointer: pointerOf(name), detail: 'is not a known field', hint };
}

const load = createRequire(import.meta.url);

/**
 * class-validator if any decorator of it was used, otherwise null. It is not imported, because loading its hundreds of
 * modules would take a twentieth of the start of every process.
 */
function classValidator(): typeof ClassValidator | null {
  return 'classValidatorMetadataStorage' in globalThis ? (load('class-validator') as typeof ClassValidator) : null;
}

const usesClassValidator = new WeakMap<DtoClass, boolean>();

/** Whether the DTO also has decorators of class-validator. Cached: the query takes longer than all own checks. */
function hasClassValidatorRules(dto: DtoClass): boolean {
  const known =
    usesClassValidator.get(dto) ??
    (classValidator()?.getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false) ?? []).length > 0;
  usesClassValidator.set(dto, known);
  return known;
}

/** Issues of class-validator for fields that are present and that the own rules accept. */
function classValidatorIssues(instance: object, issues: readonly Issue[]): Issue[] {
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

const optional = new WeakSet<DtoClass>();

/** Marks a DTO for which an absent body means `{}`. Document it with `@ApiBody({ type, required: false })`. */
export function optionalBody(dto: DtoClass): void {
  optional.add(dto);
}

const tolerant = new WeakSet<object>();

/** Marks a DTO, and those that extend it, whose unknown fields are ignored: senders of a later version may have more. */
export function ignoreUnknownFields(dto: DtoClass): void {
  tolerant.add(dto);
}

function ignoresUnknownFields(dto: object): boolean {
  if (tolerant.has(dto)) return true;
  const parent: unknown = Object.getPrototypeOf(dto);
  return typeof parent === 'function' && ignoresUnknownFields(parent);
}

export const isOptionalBody = (dto: DtoClass): boolean => optional.has(dto);
