export * from './json-logger.js';
export * from './metrics.js';
export * from './observability.module.js';
export * from './request-context.js';
