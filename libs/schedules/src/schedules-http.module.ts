import { Module } from '@nestjs/common';
import { AgentsModule } from '#libs/agents';
import { AuthModule } from '#libs/auth';
import { EnvironmentsModule } from '#libs/environments';
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
