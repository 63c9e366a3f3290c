export type { DrainOptions } from './drain-tasks.js';
export { type ExecutionRef, type StopMode, WorkerTask } from './worker-task.js';
export { Worker, type WorkerTransport } from './worker.js';
