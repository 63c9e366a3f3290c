export * from './audit-entry.js';
export { type AuditFilter, AuditLog, type StoredEntry } from './audit-log.js';
export { AuditModule } from './audit.module.js';
