import { invalidInput, ProblemError, rejectionProblem, type ResourceWords, tooLarge, unwrap } from '#platform/http';
import { type Issue, issueSentence } from '#platform/kernel';
import type { CreateRunResult } from '../application/create-run.js';
import { MAX_BYTES_OF_RUN, MAX_FILES_OF_RUN } from '../application/followup-attachments.js';
import { MAX_PENDING_BYTES, MAX_PENDING_FOLLOWUPS, type SubmitFollowupResult } from '../application/submit-followup.js';
import type { InterruptRunResult, RunLookup } from '../application/runs.service.js';
import { FILE_NAME_RULE, isFileName } from '../domain/attachment.js';
import type { Run } from '../domain/run.js';
import { MAX_PROMPT_BYTES } from './dto/run-requests.dto.js';

export const RUN: ResourceWords = { noun: 'run', plural: 'runs' };
export const CONVERSATION: ResourceWords = { noun: 'conversation', plural: 'conversations' };

export const foundOrThrow = (lookup: RunLookup): Run => unwrap(lookup, RUN).run;

export const invalidParameter = (issue: Issue): ProblemError =>
  new ProblemError('invalid_request', `Query parameter ${issueSentence(issue)}`, { errors: [issue] });

/** Prompts and messages over the limit are a 413 that names the field. */
export function refuseOversized(field: string, text: string): void {
  if (Buffer.byteLength(text) <= MAX_PROMPT_BYTES) return;
  throw tooLarge({ pointer: `/${field}`, detail: `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8` });
}

/** `names`: each with the pointer of its field. */
export function refuseFileNames(names: readonly (readonly [pointer: string, name: string])[]): void {
  const issues = names
    .filter(([, name]) => !isFileName(name))
    .map(([pointer]) => ({ pointer, detail: FILE_NAME_RULE }));
  if (issues.length > 0) throw invalidInput(issues);
}

export function unknownAttachment(pointer: string): ProblemError {
  const issue = { pointer, detail: 'names no file that was prepared for this run, uploaded and not sent yet' };
  return new ProblemError('unknown_attachment', issueSentence(issue), { errors: [issue] });
}

export function createRunRefusal(refused: Exclude<CreateRunResult, { kind: 'created' }>): ProblemError {
  switch (refused.kind) {
    case 'invalid':
      return invalidInput([refused, ...('others' in refused ? refused.others : [])]);
    case 'unavailable':
      return new ProblemError('resource_unavailable', `${issueSentence(refused)} Try again shortly.`, {
        errors: [refused],
        retryAfterSeconds: RETRY_SECONDS,
      });
    case 'too_large':
      return tooLarge(refused);
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

export function followupRefusal(refused: Exclude<SubmitFollowupResult, { kind: 'accepted' }>): ProblemError {
  switch (refused.kind) {
    case 'not_found':
    case 'forbidden':
      return rejectionProblem(refused, RUN);
    case 'over_budget':
      return new ProblemError('budget_exceeded', `${refused.reason} It cannot be continued; start another run.`);
    case 'empty_message':
      return invalidInput([EMPTY_MESSAGE]);
    case 'not_authorized':
      return new ProblemError('not_authorized', refused.detail);
    case 'nothing_to_continue':
      return new ProblemError('invalid_request', 'The run has no open session and no conversation to continue from.');
    case 'unknown_attachment':
      return unknownAttachment(`/attachments/${refused.index}`);
    case 'too_many_files':
      return tooLarge({
        pointer: '/attachments',
        detail: `must leave the run with at most ${MAX_FILES_OF_RUN} files and ${MAX_BYTES_OF_RUN} bytes together`,
      });
    case 'too_many':
      return new ProblemError(
        'conflict',
        `At most ${MAX_PENDING_FOLLOWUPS} follow-ups with ${MAX_PENDING_BYTES} bytes together wait for a run.`,
        { retryAfterSeconds: 5 },
      );
    case 'repeated':
      return new ProblemError('conflict', 'The same request was accepted at the same time.', { retryAfterSeconds: 1 });
    case 'in_progress':
      return new ProblemError('invalid_request', 'The run has not ended: wait for its end, or cancel it.');
    case 'no_snapshot':
      return new ProblemError(
        'invalid_request',
        'The run has no stored snapshot, so there are no files to continue with. Register another run in its conversation.',
      );
    case 'session_closing':
      return new ProblemError('conflict', 'The session of the run is being closed: send the request again.', {
        retryAfterSeconds: 1,
      });
  }
}

const EMPTY_MESSAGE: Issue = {
  pointer: '/message',
  detail: 'must not be empty unless the run continues from its saved conversation',
};

export function interruptRefusal(refused: Exclude<InterruptRunResult, { kind: 'requested' }>): ProblemError {
  switch (refused.kind) {
    case 'not_found':
    case 'forbidden':
      return rejectionProblem(refused, RUN);
    case 'gone':
      return new ProblemError('invalid_request', `The run has no turn to interrupt: it is ${refused.state}.`);
    case 'busy':
      return new ProblemError('conflict', `The agent of the run has not started: it is ${refused.state}.`, {
        retryAfterSeconds: INTERRUPT_RETRY_SECONDS,
      });
    case 'no_turn':
      return new ProblemError('conflict', 'No turn of the run is open; the next one begins in a moment.', {
        retryAfterSeconds: INTERRUPT_RETRY_SECONDS,
      });
  }
}

/** `given`: the value of `parameter`. Without one the run has no snapshot at all. */
export function noSnapshot(parameter: string, given: unknown): ProblemError {
  if (given === undefined)
    return new ProblemError(
      'resource_not_found',
      'The run has no stored snapshot. Snapshots are deleted with the transcript.',
    );
  const detail =
    'must be at or after a stored snapshot of the run: a sequence number, or the id of a snapshot or of a step';
  return invalidInput([{ pointer: `/${parameter}`, detail }]);
}

const INTERRUPT_RETRY_SECONDS = 1;
const RETRY_SECONDS = 10;
