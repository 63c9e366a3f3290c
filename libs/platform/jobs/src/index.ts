export * from './job-definition.js';
export * from './job-processor.js';
export * from './jobs.module.js';
export * from './migrate-queues.js';
export { CoalescedNudges } from './coalesced-nudges.js';
export { SteadyTicks } from './steady-ticks.js';
export { Pump } from './pump.js';
