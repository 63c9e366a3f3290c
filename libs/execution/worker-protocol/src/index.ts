export * from './limits.js';
export * from './parse-frame.js';
export * from './server-frames.js';
export * from './worker-frames.js';
export * from './worker-host.js';
export * from './worker-name.js';
