import type { Diagnostic } from '../domain/definition.js';

/** A definition that was planned cannot be applied after all. Thrown, so that nothing of it stays. */
export class RefusedError extends Error {
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super('The definition cannot be applied.');
  }
}
