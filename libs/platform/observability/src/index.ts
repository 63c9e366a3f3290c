export * from './json-logger.js';
export * from './metrics.js';
export * from './serve-metrics.js';
export * from './request-context.js';
export * from './labeled-counter.js';
