import { closestName, type Issue, pointerOf } from '#platform/kernel';

/** A field of a body, or a parameter of a query, that does not exist; with the one that was probably meant. */
export function unknownField(name: string, known: Iterable<string>): Issue {
  const meant = closestName(name, [...known]);
  const hint = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
  return { pointer: pointerOf(name), detail: `is not a known field${hint}` };
}
