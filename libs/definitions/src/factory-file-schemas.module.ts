import { Module } from '@nestjs/common';
import { AuthModule } from '#libs/auth';
import { TriggersModule } from '#libs/automations';
import { FactoryFileSchemasController } from './http/factory-file-schemas.controller.js';

/** What editors check definition files with. */
@Module({
  imports: [AuthModule, TriggersModule],
  controllers: [FactoryFileSchemasController],
})
export class FactoryFileSchemasModule {}
