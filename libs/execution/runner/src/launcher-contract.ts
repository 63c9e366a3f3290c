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
 * Requests that a runner ends its session once it is idle, after the current turn. Processes ignore this signal unless
 * they handle it, so that an older runner continues.
 */
export const RETIRE_SIGNAL = 'SIGWINCH';

export class HandoverError extends Error {}

const MAX_BYTES = 1_048_576;

/** Ignores unknown fields. Rejects with HandoverError, whose message names fields and never repeats a value. */
export async function readHandover(input: Readable): Promise<RunnerHandover> {
  const value = parseJson(await firstLine(input));
  if (value === undefined) throw new HandoverError('The hand-over on standard input is not a line of JSON.');
  const result = runnerHandoverSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
  throw new HandoverError(`The hand-over is not valid: ${problems.join('; ')}.`);
}

async function firstLine(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    const bytes = Buffer.from(chunk);
    const end = bytes.indexOf(0x0a);
    chunks.push(end < 0 ? bytes : bytes.subarray(0, end));
    size += bytes.length;
    if (size > MAX_BYTES) throw new HandoverError(`The hand-over is longer than ${MAX_BYTES} bytes.`);
    if (end >= 0) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
