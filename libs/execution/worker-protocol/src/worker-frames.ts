import { z } from 'zod';
import { count, type FrameOf, id, MAX_LISTED, maybe, name, stringMap, tasks, text } from './frame-fields.js';

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

/** By type, the data of the frames that workers send. */
export const WORKER_DATA = {
  /** The worker starts the task. */
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
    /** How many tasks it runs at the same time. */
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
export type { TaskRef } from './frame-fields.js';
