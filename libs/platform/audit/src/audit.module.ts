import { Global, Module } from '@nestjs/common';
import { AuditLog } from './audit-log.js';

/** Needs `Database` to be provided globally. */
@Global()
@Module({ providers: [AuditLog], exports: [AuditLog] })
export class AuditModule {}
