import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { EnvironmentsModule } from '#domain/environments';
import { ScheduleActionsController } from './http/schedule-actions.controller.js';
import { SchedulePresenter } from './http/schedule-presenter.js';
import { SchedulesController } from './http/schedules.controller.js';
import { SchedulesModule } from './schedules.module.js';

/** The room's HTTP side. */
@Module({
  imports: [SchedulesModule, AuthModule, AgentsModule, EnvironmentsModule],
  controllers: [SchedulesController, ScheduleActionsController],
  providers: [SchedulePresenter],
})
export class SchedulesHttpModule {}
