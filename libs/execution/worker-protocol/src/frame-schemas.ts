import { z } from 'zod';
import type { ServerFrame } from './server-frames.js';
import type { WorkerFrame } from './worker-frames.js';

// Lists and names have bounds, so that a frame cannot ask for more work than its size already does.
const MAX_TASKS = 1_000;
const MAX_LISTED = 500;

/** Absent and null are the same: some encoders write one, some the other. */
const maybe = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);
const id = z.string().min(1).max(256);
const name = z.string().max(256);
const text = z.string();
const count = z.number().int().min(0).max(100_000);
const seconds = z.number().positive();
const taskRef = z.object({ task_id: id, execution_id: id });
const tasks = z.array(taskRef).max(MAX_TASKS);
const stringMap = z.record(z.string(), z.string());

const harness = z.object({
  id,
  installed: z.boolean(),
  version: maybe(name),
  install_hint: maybe(z.string().max(1_024)),
});

const hello = z.object({
  protocol: z.literal(1),
  instance_id: id,
  version: name,
  backend: name,
  slots: count,
  features: z.array(name).max(MAX_LISTED),
  harnesses: z.array(harness).max(MAX_LISTED),
  skills: z
    .array(
      z.object({
        name,
        description: z.string().max(4_096),
        repository: maybe(name),
        path: maybe(z.string().max(1_024)),
      }),
    )
    .max(MAX_LISTED),
  labels: maybe(stringMap.refine((labels) => Object.keys(labels).length <= MAX_LISTED)),
  tasks,
});

/** By type, the data of what workers send. */
export const WORKER_DATA: Readonly<Record<WorkerFrame['type'], z.ZodType | null>> = {
  task_claimed: z.object({ task_id: id, worker_id: text }),
  task_rejected: z.object({ task_id: id, reason: text.default('') }),
  task_completed: z.object({ task_id: id, message: text.default(''), task_state: maybe(name) }),
  task_failed: z.object({
    task_id: id,
    message: text.default(''),
    task_state: maybe(name),
    failure_reason: maybe(name),
    exit_code: maybe(z.number().int()),
  }),
  heartbeat: null,
  hello,
  beat: z.object({ draining: z.boolean(), free_slots: count, tasks }),
};

const shape = z.object({ vcpus: maybe(z.number()), memory_gb: maybe(z.number()) });
const task = z.object({
  id,
  title: text,
  task_definition: z.object({ prompt: text }),
  created_at: text,
  updated_at: text,
  agent_config_snapshot: maybe(z.record(z.string(), z.unknown())),
  agent_conversation_id: maybe(text),
});

/** By type, the data of what the server sends. */
export const SERVER_DATA: Readonly<Record<ServerFrame['type'], z.ZodType>> = {
  task_assignment: z.object({
    task_id: id,
    execution_id: id,
    task,
    docker_image: maybe(text),
    sidecar_image: maybe(text),
    env_vars: maybe(stringMap),
    additional_sidecars: maybe(z.array(z.object({ image: text, mount_path: text, read_write: z.boolean() }))),
    additional_oz_args: maybe(z.array(text)),
    instance_shape: maybe(shape),
  }),
  task_cancellation: z.object({ task_id: id }),
  hello: z.object({
    features: z.array(text),
    ttl_seconds: seconds,
    next_beat_seconds: seconds,
    tasks: z.array(taskRef.extend({ verdict: z.enum(['keep', 'stop', 'unknown']) })),
  }),
  beat: z.object({
    ttl_seconds: seconds,
    next_beat_seconds: seconds,
    tasks: z.array(taskRef.extend({ desired: z.enum(['run', 'stop', 'kill', 'lost']) })),
  }),
};
