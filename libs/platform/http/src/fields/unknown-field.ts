import { closestName } from '#platform/kernel';
import type { Issue } from '../problems/problem-error.js';
import { token } from './kind.js';

/** A field of a body, or a parameter of a query, that does not exist; with the one that was probably meant. */
export function unknownField(name: string, known: Iterable<string>): Issue {
  const meant = closestName(name, [...known]);
  const hint = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
  return { pointer: token(name), detail: `is not a known field${hint}` };
}
