export * from './database.js';
export * from './database-error.js';
export { type ListedRows, listedUids, MAX_LISTED_BYTES } from './listed-uids.js';
export { BACKUP_LOCK, InstallationHold, IS_BACKED_UP } from './installation-hold.js';
export * from './listener.js';
export * from './migrations/migrate.js';
export { type MigrationSource, readMigrations } from './migrations/migration-files.js';
export {
  assertMigrated,
  type EarlierSchema,
  type MigrationPlan,
  readSchemaState,
  SchemaError,
  type SchemaState,
} from './migrations/schema-state.js';
export * from './movable-clock.js';
export * from './persistence.module.js';
export * from './survive-connection-loss.js';
export * from './team-constraints.js';
export * from './grouped-statement.js';
export { WRITE_TIME } from './write-time.js';
