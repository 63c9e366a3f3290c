import { Module } from '@nestjs/common';
import { AuthModule } from '#libs/auth';
import { DefinitionsModule } from './definitions.module.js';
import { DefinitionController } from './http/definition.controller.js';

/** Definitions over HTTP. */
@Module({
  imports: [AuthModule, DefinitionsModule],
  controllers: [DefinitionController],
})
export class DefinitionsHttpModule {}
