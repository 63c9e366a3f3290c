import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { TriggersModule } from '#domain/automations';
import { FactoryFileSchemasController } from './http/factory-file-schemas.controller.js';

/** What editors check definition files with. */
@Module({
  imports: [AuthModule, TriggersModule],
  controllers: [FactoryFileSchemasController],
})
export class FactoryFileSchemasModule {}
