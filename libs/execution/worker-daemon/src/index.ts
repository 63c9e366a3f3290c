export { WorkerFault } from './worker-fault.js';
export { type FlagHelp, FLAGS_NOTE, flagsHelp } from './options/flags.js';
export { readWorkerOptions, type WorkerOptions } from './options/read-worker-options.js';
export { runWorker, type RunWorkerOptions } from './run-worker.js';
