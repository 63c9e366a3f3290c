import { ProblemError } from '#platform/http';
import { MAX_PROMPT_BYTES } from './dto/run-requests.dto.js';
import type { RunLookup } from '../application/run-access.js';
import type { Run } from '../domain/run.js';

export function unknownRun(): ProblemError {
  return new ProblemError('resource_not_found', 'Run not found.');
}

export function notYours(): ProblemError {
  return new ProblemError('not_authorized', 'You have no access to this run, or your role does not allow this on it.');
}

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

/** Prompts and messages over the limit are a 413, told by field. */
export function refuseOversized(field: string, text: string): void {
  if (Buffer.byteLength(text) <= MAX_PROMPT_BYTES) return;
  throw tooLarge(`/${field}`, `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8`);
}

export function tooLarge(pointer: string, detail: string): ProblemError {
  return new ProblemError('payload_too_large', `\`${pointer.slice(1)}\` ${detail}.`, { errors: [{ pointer, detail }] });
}
