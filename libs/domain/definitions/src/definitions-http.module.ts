import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { DefinitionsModule } from './definitions.module.js';
import { DefinitionController } from './http/definition.controller.js';

/** Definitions over HTTP. */
@Module({
  imports: [AuthModule, FactoriesModule, DefinitionsModule],
  controllers: [DefinitionController],
})
export class DefinitionsHttpModule {}
