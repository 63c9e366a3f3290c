export { EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.js';
export { findEmbeddedPostgres, type FoundPostgres } from './find-embedded-postgres.js';
export { holderIsAlive, LockHeldError, PidLock, readHolder } from './pid-lock.js';
