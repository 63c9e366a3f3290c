import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { AutomationsModule } from '#domain/automations';
import { FactoryFileSchemasController } from './http/factory-file-schemas.controller.js';

/** What editors check definition files with. */
@Module({
  imports: [AuthModule, AutomationsModule],
  controllers: [FactoryFileSchemasController],
})
export class FactoryFileSchemasModule {}
