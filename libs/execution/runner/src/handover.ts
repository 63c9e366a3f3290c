import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { RunnerHandover } from '#execution/runner-protocol';
import { harnessDefinition } from './harness/harness-schema.js';

export class HandoverError extends Error {}

const MAX_BYTES = 1_048_576;

const shape = z.object({
  base_url: z.url({ protocol: /^https?$/ }),
  execution_id: z.string().min(1),
  token: z.string().min(1),
  workspace_dir: z.string().startsWith('/'),
  cookie: z.string().regex(/^[A-Za-z0-9_-]{8,200}$/),
  run_as: z.object({ uid: z.int().min(1), gid: z.int().min(1) }).optional(),
  place_env: z.record(z.string(), z.string()).optional(),
  claim_seconds: z.number().positive().optional(),
  beats_per_lease: z.int().min(1).max(100).optional(),
  limits: z.object({
    max_workspace_bytes: z.int().positive(),
    max_output_bytes: z.int().positive(),
    setup_command_timeout_seconds: z.number().positive(),
    cancel_step_seconds: z.number().positive(),
    max_artifact_bytes: z.int().positive().optional(),
    agent_progress_timeout_seconds: z.number().positive().optional(),
  }),
  git: z
    .object({
      mirrors_dir: z.string().startsWith('/').optional(),
      local_roots: z.array(z.string().startsWith('/')).optional(),
      hosts: z.object({ allow_private: z.array(z.string()), trusted_urls: z.array(z.string()) }).optional(),
      clone_timeout_seconds: z.number().positive(),
      max_repository_bytes: z.int().positive(),
      max_mirrors_bytes: z.int().positive().optional(),
    })
    .optional(),
  in_place: z
    .object({ work_dir: z.string().startsWith('/'), home_dir: z.string().startsWith('/').optional() })
    .optional(),
  harnesses: z.record(z.string(), harnessDefinition).optional(),
});

/**
 * Reads the hand-over: the first line of `input`, one JSON object. Unknown fields are ignored. Rejects with HandoverError,
 * whose message names fields and never repeats a value.
 */
export async function readHandover(input: Readable): Promise<RunnerHandover> {
  const line = await firstLine(input);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new HandoverError('The hand-over on standard input is not a line of JSON.');
  }
  const result = shape.safeParse(value);
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
