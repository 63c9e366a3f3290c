export * from './database.js';
export * from './database-error.js';
export * from './listener.js';
export * from './migrate.js';
export * from './movable-clock.js';
export * from './persistence.module.js';
export * from './survive-connection-loss.js';
export * from './grouped-statement.js';
