import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { type Issue, pointerOf, prefixIssues } from '#platform/kernel';

/** The source of a value: JSON has types, a query string has text only. */
export type Source = 'body' | 'query';

export type SchemaOptions = Extract<ApiPropertyOptions, object>;

/** The type of a field: how it is parsed, validated and documented. */
export interface Kind {
  readonly schema: SchemaOptions;
  /** Converts known representations and returns everything else unchanged, so that `check` rejects it. */
  read(raw: unknown, source: Source): unknown;
  /** The issues, with pointers relative to this value (`''` is the value itself). */
  check(value: unknown): Issue[];
}

export const wrong = (detail: string, pointer = ''): Issue[] => [{ pointer, detail }];

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** Almost always there is no issue, so the pointer is not written before there is one. */
export const below = (key: string | number, issues: Issue[]): Issue[] =>
  issues.length === 0 ? issues : prefixIssues(pointerOf(key), issues);

export interface FieldOptions {
  readonly optional?: boolean;
  /** The field may be null, with a meaning that differs from absence. */
  readonly nullable?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly deprecated?: boolean;
  /** For the document only; the service applies it. */
  readonly default?: unknown;
}

export interface Field {
  readonly kind: Kind;
  readonly optional: boolean;
  readonly nullable: boolean;
}

type Constructor = abstract new (...args: never[]) => object;

const declared = new WeakMap<Constructor, Map<string, Field>>();
const complete = new WeakMap<Constructor, ReadonlyMap<string, Field>>();

/** The declared fields of a DTO class, inherited ones included. */
export function fieldsOf(dto: Constructor): ReadonlyMap<string, Field> {
  const known = complete.get(dto);
  if (known) return known;
  const all = new Map<string, Field>();
  for (let current: unknown = dto; typeof current === 'function'; current = Object.getPrototypeOf(current)) {
    for (const [key, field] of declared.get(current as Constructor) ?? []) if (!all.has(key)) all.set(key, field);
  }
  complete.set(dto, all);
  return all;
}

export function field(kind: Kind, options: FieldOptions = {}): PropertyDecorator {
  const { optional = false, nullable = false, description, example, deprecated } = options;
  const documented = ApiProperty({
    ...kind.schema,
    required: !optional,
    ...(nullable ? { nullable } : {}),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    ...(deprecated ? { deprecated } : {}),
    ...(options.default === undefined ? {} : { default: options.default }),
  } as SchemaOptions);
  return (target, key) => {
    const owner = target.constructor as Constructor;
    declared.set(
      owner,
      (declared.get(owner) ?? new Map<string, Field>()).set(String(key), { kind, optional, nullable }),
    );
    documented(target, key);
  };
}
