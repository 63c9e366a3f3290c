export * from './events.js';
export * from './messages.js';
