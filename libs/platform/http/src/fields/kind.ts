import type { ApiPropertyOptions } from '@nestjs/swagger';
import type { Issue } from '../problems/problem-error.js';

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

/** One reference token of a JSON pointer. */
export const token = (key: string | number): string => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const below = (key: string | number, issues: readonly Issue[]): Issue[] =>
  issues.map(({ pointer, detail }) => ({ pointer: token(key) + pointer, detail }));
