import { z } from 'zod';

// Lists and names have bounds, so that a frame cannot cause more work than its size already does.
const MAX_TASKS = 1_000;
const MAX_LISTED = 500;

/** Absent and null mean the same: some encoders write one, some the other. */
const maybe = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
const id = z.string().min(1).max(256);
const name = z.string().max(256);
const text = z.string();
const count = z.number().int().min(0).max(100_000);
const stringMap = z.record(z.string(), z.string());

/** A task that a worker runs. `execution_id` is decimal. */
const taskRef = z.object({ task_id: id, execution_id: id });
const tasks = z.array(taskRef).max(MAX_TASKS);
export type TaskRef = z.infer<typeof taskRef>;

/** The frames of one direction, from the schema of the data of each type; null for a type without data. */
type FrameOf<Schemas extends Readonly<Record<string, z.ZodType | null>>> = {
  [Type in keyof Schemas & string]: Schemas[Type] extends z.ZodType
    ? { type: Type; data: z.infer<Schemas[Type]> }
    : { type: Type };
}[keyof Schemas & string];

const task = z.object({
  id,
  title: text,
  task_definition: z.object({ prompt: text }),
  created_at: text,
  updated_at: text,
  /** AmbientAgentConfig as the API shows it. */
  agent_config_snapshot: maybe(z.record(z.string(), z.unknown())),
  agent_conversation_id: maybe(text),
});

const assignment = z.object({
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
  ttl_seconds: z.number().positive(),
  /** When the next beat is expected, before the jitter of the worker. */
  next_beat_seconds: z.number().positive(),
};

const SERVER_DATA = {
  /** Offers a run to this connection. Repeating a known offer changes nothing. */
  task_assignment: assignment,
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

const harness = z.object({
  id,
  installed: z.boolean(),
  version: maybe(name),
  /** For people; of harnesses that the worker itself defines. */
  install_hint: maybe(z.string().max(1_024)),
});
export type WorkerHarness = z.infer<typeof harness>;

const skill = z.object({
  name,
  description: z.string().max(4_096),
  /** `owner/name`: the last two segments of the URL of `origin`, or of the directory where there is none. */
  repository: maybe(name),
  /** The path of its SKILL.md in the repository. */
  path: maybe(z.string().max(1_024)),
});
export type WorkerSkill = z.infer<typeof skill>;

const WORKER_DATA = {
  task_claimed: z.object({ task_id: id, worker_id: text }),
  /** The worker has no free slot: the run returns to the queue and has not failed. */
  task_rejected: z.object({ task_id: id, reason: text.default('') }),
  /** `task_state`: `CANCELLED`, or absent. */
  task_completed: z.object({ task_id: id, message: text.default(''), task_state: maybe(name) }),
  task_failed: z.object({
    task_id: id,
    message: text.default(''),
    task_state: maybe(name),
    failure_reason: maybe(name),
    /** 128 + signal for a killed process. */
    exit_code: maybe(z.number().int()),
  }),
  /** A sign of life without further meaning. */
  heartbeat: null,
  /** Extension: the first frame of Headrace's own worker on each connection. */
  hello: z.object({
    protocol: z.literal(1),
    /** Identifies the process of the worker, also when it connects again. */
    instance_id: id,
    version: name,
    backend: name,
    slots: count,
    features: z.array(name).max(MAX_LISTED),
    harnesses: z.array(harness).max(MAX_LISTED),
    skills: z.array(skill).max(MAX_LISTED),
    labels: maybe(stringMap.refine((labels) => Object.keys(labels).length <= MAX_LISTED)),
    /** Its journal: the tasks that it still runs. */
    tasks,
  }),
  /** Extension: the state of the worker and of its tasks. The server answers with the wanted state of each. */
  beat: z.object({ draining: z.boolean(), free_slots: count, tasks }),
} as const;

export type WorkerFrame = FrameOf<typeof WORKER_DATA>;
export type TaskClaimed = Extract<WorkerFrame, { type: 'task_claimed' }>;
export type TaskRejected = Extract<WorkerFrame, { type: 'task_rejected' }>;
export type TaskCompleted = Extract<WorkerFrame, { type: 'task_completed' }>;
export type TaskFailed = Extract<WorkerFrame, { type: 'task_failed' }>;
export type Hello = Extract<WorkerFrame, { type: 'hello' }>;
export type Beat = Extract<WorkerFrame, { type: 'beat' }>;

export type ParsedFrame<Frame> =
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** A type of another version, to be logged and ignored. */
  | { readonly kind: 'unknown'; readonly type: string }
  /** A known type whose data does not match its schema, to be logged and ignored. */
  | { readonly kind: 'invalid'; readonly type: string; readonly detail: string }
  /** No JSON object with a type: the other end does not use this protocol. */
  | { readonly kind: 'malformed'; readonly detail: string };

export const parseWorkerFrame = (text: string): ParsedFrame<WorkerFrame> => parse<WorkerFrame>(text, WORKER_DATA);

/** Reads a frame of the server. Unknown fields are removed. */
export const parseServerFrame = (text: string): ParsedFrame<ServerFrame> => parse<ServerFrame>(text, SERVER_DATA);

function parse<Frame>(text: string, schemas: Readonly<Record<string, z.ZodType | null>>): ParsedFrame<Frame> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'malformed', detail: 'The frame is not JSON.' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'malformed', detail: 'The frame is not a JSON object.' };
  const { type, data } = value as Record<string, unknown>;
  if (typeof type !== 'string') return { kind: 'malformed', detail: 'The frame has no type.' };
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined) return { kind: 'unknown', type: type.slice(0, 64) };
  // The type assertions hold because the types of frames are inferred from these schemas.
  if (schema === null) return { kind: 'frame', frame: { type } as Frame };
  const result = schema.safeParse(data ?? {});
  if (!result.success) {
    const [issue] = result.error.issues;
    return { kind: 'invalid', type, detail: `data.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}` };
  }
  return { kind: 'frame', frame: { type, data: result.data } as Frame };
}
