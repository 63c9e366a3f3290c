export * from './clock.js';
export * from './cursor.js';
export * from './error-codes.js';
export * from './ids.js';
export * from './json-depth.js';
export * from './mask-secrets.js';
export * from './state-machine.js';
export * from './text.js';
