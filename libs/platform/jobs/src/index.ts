export { BackgroundTasks } from './background-tasks.js';
export { JobsModule, QueueConnections } from './jobs.module.js';
export { areQueuesMigrated, migrateQueues } from './migrate-queues.js';
export { PeriodicTask, type TaskRun } from './periodic-task.js';
export { defineTask, renderBackgroundWork, type ServerProcess, type TaskDefinition } from './task-definition.js';
