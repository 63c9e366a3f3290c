export type { Cron } from './cron.js';
export * from './parse-cron.js';
export * from './time-zone.js';
