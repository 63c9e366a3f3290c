import type { Readable } from 'node:stream';
import { parseJson } from '#platform/kernel';
import { type RunnerHandover, runnerHandoverSchema } from '#execution/runner-protocol';

/** The outcome of the run is reported over the protocol; the exit code says only whether this report succeeded. */
export const RUNNER_EXIT = {
  /** The control plane has acknowledged the end of the execution, with any outcome. */
  reported: 0,
  /** The hand-over on standard input was missing or not valid. Nothing was claimed. */
  badHandover: 64,
  /** The control plane was not reachable for the claim. Nothing was started. */
  notClaimed: 69,
  /** A fault of the runner itself. Its processes were killed; the lease runs out. */
  fault: 70,
  /** The control plane refused the claim: the execution is not offered any more. Nothing was started. */
  claimRefused: 77,
  /** The lease was lost (412, or silence for too long). Everything was killed, nothing more was reported. */
  fenced: 75,
} as const;

export type RunnerExitCode = (typeof RUNNER_EXIT)[keyof typeof RUNNER_EXIT];

/**
 * Requests that a runner hands back an execution whose agent has not started, and otherwise ends its session once it is idle, after the
 * current turn. Processes ignore this signal unless they handle it, so that an older runner continues.
 */
export const RETIRE_SIGNAL = 'SIGWINCH';

export class HandoverError extends Error {}

const MAX_BYTES = 1_048_576;

/** Of `agent run`: further hand-overs follow, one after the end of each execution. */
export const REUSE_OPTION = 'reuse';

/** The line on standard output that reports the end of an execution. The runner waits for the next hand-over then. */
export interface ExecutionResult {
  readonly execution_id: string;
  readonly exit_code: typeof RUNNER_EXIT.reported;
}

/** Ignores unknown fields. Rejects with HandoverError, whose message names fields and never repeats a value. */
export async function readHandover(input: Readable): Promise<RunnerHandover> {
  for await (const handover of readHandovers(input)) return handover;
  return parseHandover('');
}

/** One hand-over on each line. Throws as {@link readHandover}. */
export async function* readHandovers(input: Readable): AsyncGenerator<RunnerHandover, void> {
  for await (const line of readLines(input)) yield parseHandover(line);
}

function parseHandover(line: string): RunnerHandover {
  const value = parseJson(line);
  if (value === undefined) throw new HandoverError('The hand-over on standard input is not a line of JSON.');
  const result = runnerHandoverSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
  throw new HandoverError(`The hand-over is not valid: ${problems.join('; ')}.`);
}

async function* readLines(input: Readable): AsyncGenerator<string, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    rest = Buffer.concat([rest, Buffer.from(chunk)]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MAX_BYTES) throw new HandoverError(`The hand-over is longer than ${MAX_BYTES} bytes.`);
  }
  if (rest.length > 0) yield rest.toString('utf8');
}
