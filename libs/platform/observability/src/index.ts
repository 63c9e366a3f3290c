export * from './json-logger.js';
export * from './metrics.js';
export * from './serve-metrics.js';
export { currentContext, newContext, type RequestContext, runInContext } from './request-context.js';
export * from './labeled-counter.js';
export * from './telemetry/spans.js';
export * from './telemetry/start-telemetry.js';
export { type EndedSpan, type SpanAttributes, type Telemetry, telemetry } from './telemetry/telemetry.js';
