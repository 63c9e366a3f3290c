import type { Diagnostic } from './definition.js';

/** More than anybody reads; a file can hold a hundred thousand faults. */
export const MAX_DIAGNOSTICS = 100;
const MAX_SHOWN_PATH = 255;
const MAX_MESSAGE = 600;
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** By path, line and column; at most {@link MAX_DIAGNOSTICS}, safe to print. */
export function sortedDiagnostics(found: readonly Diagnostic[]): Diagnostic[] {
  return [...found]
    .sort((one, other) => byCode(one.path, other.path) || one.line - other.line || one.column - other.column)
    .slice(0, MAX_DIAGNOSTICS)
    .map((diagnostic) => ({
      ...diagnostic,
      path: printable(diagnostic.path, MAX_SHOWN_PATH),
      message: printable(diagnostic.message, MAX_MESSAGE),
    }));
}

/** Text of a file as it can stand in a message: nothing in it moves a terminal's cursor. */
export function printable(text: string, maxLength = 64): string {
  const clean = text.slice(0, maxLength).toWellFormed().replaceAll(UNPRINTABLE, '\uFFFD');
  return text.length > maxLength ? `${clean}…` : clean;
}

const byCode = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
