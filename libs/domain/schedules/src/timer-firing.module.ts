import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { FireTimers } from './application/fire-timers.js';
import { ScheduleStores, ScheduleTimer } from './application/schedule-timer.js';
import { TimerSteps } from './application/timer-steps.js';
import { ScheduleFiringsStore } from './persistence/schedule-firings.store.js';
import { SchedulesModule } from './schedules.module.js';
import { TimersModule } from './timers.module.js';

/** Firing what is due, for whoever says when. */
@Module({
  imports: [AuthModule, RunsModule, SchedulesModule, TimersModule],
  providers: [FireTimers, TimerSteps, ScheduleFiringsStore, ScheduleStores, ScheduleTimer],
  exports: [FireTimers, TimerSteps, ScheduleFiringsStore, TimersModule],
})
export class TimerFiringModule {}
