export * from './database.js';
export * from './database-error.js';
export * from './embedded-postgres/embedded-postgres.js';
export * from './embedded-postgres/pid-lock.js';
export * from './listener.js';
export * from './migrate.js';
export * from './movable-clock.js';
export * from './persistence.module.js';
