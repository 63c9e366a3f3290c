export { WorkerSockets } from './application/worker-sockets.js';
export { WorkerTasks } from './application/worker-tasks.js';
export type { WorkerRef } from './domain/worker.js';
export { type ConnectedWorker, ConnectedWorkersStore } from './persistence/connected-workers.store.js';
export { WorkersHttpModule, WorkersModule } from './workers.module.js';
