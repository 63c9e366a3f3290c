export { WorkerTasks } from './application/worker-tasks.js';
export type { WorkerRef } from './domain/worker.js';
export { WorkerSockets } from './socket/worker-sockets.js';
export { WorkersHttpModule, WorkersModule } from './workers.module.js';
