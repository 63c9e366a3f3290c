export * from './events.js';
export * from './messages.js';
export * from './snapshot.js';
export * from './snapshot-block.js';
export * from './handover.js';
