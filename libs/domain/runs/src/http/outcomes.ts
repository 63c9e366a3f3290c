import { forbidden, notFound, type ProblemError, tooLarge } from '#platform/http';
import { MAX_PROMPT_BYTES } from './dto/run-requests.dto.js';
import type { RunLookup } from '../application/run-access.js';
import type { Run } from '../domain/run.js';

export const unknownRun = (): ProblemError => notFound('run');
export const notYours = (): ProblemError => forbidden('run');

export function foundOrThrow(lookup: RunLookup): Run {
  switch (lookup.kind) {
    case 'found':
      return lookup.run;
    case 'unknown':
      throw unknownRun();
    case 'not_yours':
      throw notYours();
  }
}

/** Prompts and messages that exceed the limit are a 413 that names the field. */
export function refuseOversized(field: string, text: string): void {
  if (Buffer.byteLength(text) <= MAX_PROMPT_BYTES) return;
  throw tooLarge({ pointer: `/${field}`, detail: `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8` });
}
