import type { WorkerOptions } from 'bullmq';
import type { Settings } from '#platform/config';

export type ServerProcess = 'api' | 'ingress' | 'processor';

/** A BullMQ queue whose jobs run a task, or wake it up. */
export interface TaskQueue {
  readonly name: string;
  readonly options?: Pick<WorkerOptions, 'concurrency' | 'lockDuration' | 'stalledInterval' | 'runRetryDelay'>;
}

export interface TaskWakeUp {
  /** What causes it, as a sentence fragment for the documentation: "a run is created". */
  readonly by: string;
  /**
   * Present: any process may wake the task up through the queue, and wake-ups within this time are one job. Absent: only
   * the process of the task wakes it up.
   */
  readonly coalesceMs?: number;
  /** The job lasts as long as the run that it causes, so that the wake-ups of all processes during the run are one job. */
  readonly holdsJob?: true;
}

/** Background work as data; `BackgroundTasks.implement` adds the code. */
export interface TaskDefinition {
  /** Unique within its library. The name of its jobs, and with the library the label of its metrics. */
  readonly name: string;
  readonly library: string;
  readonly process: ServerProcess;
  /** `process`: every process of that kind runs it once per period. `cluster`: one of all processes does. */
  readonly scope: 'process' | 'cluster';
  /** Milliseconds, or how they follow from the settings. */
  readonly period: number | { readonly text: string; readonly of: (settings: Settings) => number };
  readonly description: string;
  readonly wakeUp?: TaskWakeUp;
  /** Needed by tasks of the scope `cluster`, and by wake-ups from other processes. */
  readonly queue?: TaskQueue;
  /** The configuration under which a process implements it, such as `EXECUTOR=docker`; absent: every configuration. */
  readonly condition?: string;
  /** Declared by a plugin, which a process may import without loading its module. */
  readonly isOfPlugin?: true;
}

const known = new Map<string, TaskDefinition>();

export const taskKey = ({ library, name }: TaskDefinition): string => `${library}/${name}`;

/** Declares a task, once, at module level. Throws when its library has a task of this name, or when it lacks its queue. */
export function defineTask(definition: TaskDefinition): TaskDefinition {
  const key = taskKey(definition);
  if (known.has(key)) throw new Error(`The task ${key} is declared twice: rename one of them.`);
  const needsQueue = definition.scope === 'cluster' || definition.wakeUp?.coalesceMs !== undefined;
  if (needsQueue && !definition.queue) throw new Error(`The task ${key} is run through a queue: declare its queue.`);
  known.set(key, definition);
  return definition;
}

/** The same for plugins: `library` is the name of the plugin. */
export const definePluginTask = (definition: Omit<TaskDefinition, 'isOfPlugin'>): TaskDefinition =>
  defineTask({ ...definition, isOfPlugin: true });

/** Every task that a loaded library declares; the documentation is generated from them. */
export const definedTasks = (): readonly TaskDefinition[] => [...known.values()];

/** Why a process of this kind must not start: tasks that it declares and does not implement. */
export function missingTasks(
  process: ServerProcess,
  definitions: readonly TaskDefinition[],
  implemented: ReadonlySet<string>,
): string[] {
  return definitions
    .filter(
      (definition) => definition.process === process && definition.condition === undefined && !definition.isOfPlugin,
    )
    .map(taskKey)
    .filter((key) => !implemented.has(key));
}
