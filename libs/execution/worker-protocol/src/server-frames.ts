import { z } from 'zod';
import { type FrameOf, id, maybe, stringMap, taskRef, text } from './frame-fields.js';

const seconds = z.number().positive();

const task = z.object({
  id,
  title: text,
  task_definition: z.object({ prompt: text }),
  /** RFC 3339. */
  created_at: text,
  /** RFC 3339. */
  updated_at: text,
  /** AmbientAgentConfig as the API shows it. */
  agent_config_snapshot: maybe(z.record(z.string(), z.unknown())),
  agent_conversation_id: maybe(text),
});
export type WorkerTask = z.infer<typeof task>;

const assignment = z.object({
  /** Id of the run. */
  task_id: id,
  /** Decimal. */
  execution_id: id,
  task,
  docker_image: maybe(text),
  sidecar_image: maybe(text),
  env_vars: maybe(stringMap),
  additional_sidecars: maybe(z.array(z.object({ image: text, mount_path: text, read_write: z.boolean() }))),
  additional_oz_args: maybe(z.array(text)),
  instance_shape: maybe(z.object({ vcpus: maybe(z.number()), memory_gb: maybe(z.number()) })),
});
export type TaskAssignmentData = z.infer<typeof assignment>;

/** `unknown`: the server knows no such execution; what it left on the worker can be removed. */
const verdict = z.enum(['keep', 'stop', 'unknown']);
export type Verdict = z.infer<typeof verdict>;

/** `stop`: gracefully. `kill`: at once. `lost`: the execution is no longer this worker's; kill it and upload nothing. */
const desired = z.enum(['run', 'stop', 'kill', 'lost']);
export type Desired = z.infer<typeof desired>;

/** `ttl_seconds`: how long the leases of the connection live without a sign of life. */
const times = {
  ttl_seconds: seconds,
  /** When the next beat is expected, before the jitter of the worker. */
  next_beat_seconds: seconds,
};

/** By type, the data of the frames that the server sends. */
export const SERVER_DATA = {
  /** Offers a run to this connection. Repeating a known offer changes nothing. */
  task_assignment: assignment,
  /** Requests the end of the run. */
  task_cancellation: z.object({ task_id: id }),
  /** Extension: the answer to the hello of a worker. */
  hello: z.object({ features: z.array(text), ...times, tasks: z.array(taskRef.extend({ verdict })) }),
  /** Extension: the answer to the beat of a worker. */
  beat: z.object({ ...times, tasks: z.array(taskRef.extend({ desired })) }),
} as const;

export type ServerFrame = FrameOf<typeof SERVER_DATA>;
export type TaskAssignment = Extract<ServerFrame, { type: 'task_assignment' }>;
export type HelloAnswer = Extract<ServerFrame, { type: 'hello' }>;
export type BeatAnswer = Extract<ServerFrame, { type: 'beat' }>;
