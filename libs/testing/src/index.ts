export * from './conversation-normalizer-conformance.js';
export * from './object-store-conformance.js';
export * from './run-event-arbitrary.js';
export * from './run-log-builder.js';
