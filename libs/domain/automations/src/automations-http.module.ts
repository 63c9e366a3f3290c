import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { AutomationsModule } from './automations.module.js';
import { AutomationsController } from './http/automations.controller.js';
import { TriggerTestsController } from './http/trigger-tests.controller.js';

/** The room's HTTP side. */
@Module({
  imports: [AutomationsModule, AuthModule, FactoriesModule],
  controllers: [TriggerTestsController, AutomationsController],
})
export class AutomationsHttpModule {}
