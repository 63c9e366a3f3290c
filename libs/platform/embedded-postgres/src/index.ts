export { EmbeddedPostgres, findEmbeddedPostgres } from './embedded-postgres.js';
export { holderIsAlive, LockHeldError, PidLock, readHolder } from './pid-lock.js';
