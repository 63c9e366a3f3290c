import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';
import type { Issue } from '../problems/problem-error.js';
import { type Kind, type SchemaOptions } from './kind.js';

export interface FieldOptions {
  /** May be left out. */
  readonly optional?: boolean;
  /** May be null, which then means something of its own. */
  readonly nullable?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly deprecated?: boolean;
  /** For the document only; the use case applies it. */
  readonly default?: unknown;
}

type Fields = Map<string, Kind>;
type Constructor = abstract new (...args: never[]) => object;

const registry = new WeakMap<Constructor, Fields>();

/** The declared fields of a DTO class, inherited ones included. */
export function fieldsOf(dto: Constructor): ReadonlyMap<string, Kind> {
  const all: Fields = new Map();
  for (let current: unknown = dto; typeof current === 'function'; current = Object.getPrototypeOf(current)) {
    for (const [key, kind] of registry.get(current as Constructor) ?? []) if (!all.has(key)) all.set(key, kind);
  }
  return all;
}

/** Issues found by the kinds, which class-validator's one message per constraint cannot carry. */
const found = new WeakMap<object, Map<string, Issue[]>>();

export function issuesOf(instance: object, property: string): readonly Issue[] | undefined {
  return found.get(instance)?.get(property);
}

/**
 * One decorator a field: registers it for reading, hands its rule to class-validator (whose own decorators may be added
 * beside it) and describes it in the document.
 */
export function field(kind: Kind, options: FieldOptions = {}): PropertyDecorator {
  const skipped = (value: unknown): boolean =>
    (value === undefined && options.optional === true) || (value === null && options.nullable === true);
  const rule = ValidateBy({
    name: 'field',
    validator: {
      validate(value: unknown, args?: ValidationArguments): boolean {
        const issues = value === undefined ? [{ pointer: '', detail: 'is required' }] : kind.check(value);
        if (issues.length > 0 && args) {
          const byProperty = found.get(args.object) ?? new Map<string, Issue[]>();
          found.set(args.object, byProperty.set(args.property, issues));
        }
        return issues.length === 0;
      },
      defaultMessage: () => 'is not valid',
    },
  });
  const { optional, nullable, description, example, deprecated } = options;
  const documented = ApiProperty({
    ...kind.schema,
    required: optional !== true,
    ...(nullable ? { nullable } : {}),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    ...(deprecated ? { deprecated } : {}),
    ...(options.default === undefined ? {} : { default: options.default }),
  } as SchemaOptions);
  return (target, key) => {
    const owner = target.constructor as Constructor;
    registry.set(owner, (registry.get(owner) ?? new Map<string, Kind>()).set(String(key), kind));
    ValidateIf((_object: object, value: unknown) => !skipped(value))(target, key);
    rule(target, key);
    documented(target, key);
  };
}
