export * from './json-logger.js';
export * from './metrics.js';
export * from './metrics-server.js';
export * from './observability.module.js';
export * from './request-context.js';
export * from './labeled-counter.js';
