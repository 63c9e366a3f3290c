export { BackgroundTasks } from './background-tasks.js';
export { areQueuesMigrated, JobsModule, migrateQueues, QueueConnections } from './jobs.module.js';
export { PeriodicTask, type TaskRun } from './periodic-task.js';
export {
  definedTasks,
  definePluginTask,
  defineTask,
  type ServerProcess,
  type TaskDefinition,
} from './task-definition.js';
