import { type Issue, ProblemError } from '#platform/http';
import type { CreateRunResult } from '../application/create-run.js';
import type { RunLookup } from '../application/runs.service.js';
import type { Run } from '../domain/run.js';
import { MAX_PROMPT_BYTES } from './dto/run-requests.dto.js';

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

/** Prompts and messages over the limit are a 413 that names the field. */
export function refuseOversized(field: string, text: string): void {
  if (Buffer.byteLength(text) <= MAX_PROMPT_BYTES) return;
  throw tooLarge(`/${field}`, `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8`);
}

export function tooLarge(pointer: string, detail: string): ProblemError {
  return new ProblemError('payload_too_large', `\`${pointer.slice(1)}\` ${detail}.`, { errors: [{ pointer, detail }] });
}

/** The answer when no run was created. */
export function createRunRefusal(refused: Exclude<CreateRunResult, { kind: 'created' }>): ProblemError {
  switch (refused.kind) {
    case 'invalid':
      return invalid([refused, ...('others' in refused ? refused.others : [])]);
    case 'unavailable':
      return new ProblemError('resource_unavailable', `${sentence(refused)} Try again shortly.`, {
        errors: [issue(refused)],
        retryAfterSeconds: RETRY_SECONDS,
      });
    case 'too_large':
      return tooLarge(refused.pointer, refused.detail);
    case 'not_authorized':
      return new ProblemError('not_authorized', refused.detail, {
        errors: 'errors' in refused ? refused.errors : undefined,
      });
    case 'conversation_busy':
      return new ProblemError(
        'conflict',
        'A run is open in this conversation. Send that run a follow-up, or wait until its session has ended.',
        { retryAfterSeconds: 5 },
      );
    case 'key_reused':
      return new ProblemError('idempotency_key_reused', 'This `Idempotency-Key` was used with another request body.');
  }
}

const RETRY_SECONDS = 10;

const issue = ({ pointer, detail }: Issue): Issue => ({ pointer, detail });
const sentence = ({ pointer, detail }: Issue): string => `\`${pointer.slice(1)}\` ${detail}.`;

function invalid(issues: readonly Issue[]): ProblemError {
  return new ProblemError('invalid_request', issues.map(sentence).join(' '), { errors: issues.map(issue) });
}
