import type { ApiPropertyOptions } from '@nestjs/swagger';
import { type Issue, pointerOf, prefixIssues } from '#platform/kernel';

/** Where a value comes from: JSON has types, a query string has only text. */
export type Source = 'body' | 'query';

export type SchemaOptions = Extract<ApiPropertyOptions, object>;

/** What a field may hold: how it is read, what it must fulfil, how the document describes it. */
export interface Kind {
  readonly schema: SchemaOptions;
  /** Converts what it recognises and returns everything else untouched, for `check` to refuse. */
  read(raw: unknown, source: Source): unknown;
  /** What is wrong, with pointers relative to this value (`''` is the value itself). */
  check(value: unknown): Issue[];
}

export const wrong = (detail: string, pointer = ''): Issue[] => [{ pointer, detail }];

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

export const below = (key: string | number, issues: readonly Issue[]): Issue[] => prefixIssues(pointerOf(key), issues);
