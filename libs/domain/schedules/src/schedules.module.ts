import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { EnvironmentsModule } from '#domain/environments';
import { RunsModule } from '#domain/runs';
import { TimersModule } from '#platform/timers';
import { ScheduleLauncher } from './application/schedule-launcher.js';
import { PauseSchedulesOfDisabledUsers, RecordScheduleSuccess } from './application/schedule-listeners.js';
import { ScheduleTimer } from './application/schedule-timer.js';
import { SchedulesService } from './application/schedules.service.js';
import { ScheduleValidator } from './application/schedule-validator.js';
import { SchedulePresenter } from './http/schedule-presenter.js';
import { SchedulesController } from './http/schedules.controller.js';
import { ScheduleFiringsStore } from './persistence/schedule-firings.store.js';
import { SchedulesStore } from './persistence/schedules.store.js';

/** What happens to schedules when a user is disabled; imported by every process that disables users. */
@Module({
  imports: [AuthModule, TimersModule],
  providers: [SchedulesStore, PauseSchedulesOfDisabledUsers],
  exports: [SchedulesStore, TimersModule],
})
export class SchedulesModule {}

@Module({
  imports: [SchedulesModule, AuthModule, AgentsModule, EnvironmentsModule, RunsModule],
  controllers: [SchedulesController],
  providers: [ScheduleValidator, ScheduleLauncher, SchedulesService, SchedulePresenter, RecordScheduleSuccess],
})
export class SchedulesHttpModule {}

/** The runs of schedules, for the processor; `TimersJobsModule` fires them. */
@Module({
  imports: [SchedulesModule, AuthModule, RunsModule],
  providers: [ScheduleFiringsStore, ScheduleLauncher, ScheduleTimer, RecordScheduleSuccess],
})
export class SchedulesJobsModule {}
