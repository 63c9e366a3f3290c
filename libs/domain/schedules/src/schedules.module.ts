import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { ChangeSchedule } from './application/change-schedule.js';
import { CreateSchedule } from './application/create-schedule.js';
import { FindSchedules } from './application/find-schedules.js';
import { LastSuccesses } from './application/last-successes.js';
import { LaunchSchedule } from './application/launch-schedule.js';
import { RunSchedule } from './application/run-schedule.js';
import { ScheduleChecks } from './application/schedule-checks.js';
import { SchedulesStore } from './persistence/schedules.store.js';
import { TimersModule } from './timers.module.js';

const USE_CASES = [FindSchedules, CreateSchedule, ChangeSchedule, RunSchedule, LaunchSchedule];

/** Schedules as they are managed. */
@Module({
  imports: [AuthModule, AgentsModule, RunsModule, TimersModule],
  providers: [SchedulesStore, ScheduleChecks, LastSuccesses, ...USE_CASES],
  exports: [SchedulesStore, ...USE_CASES],
})
export class SchedulesModule {}
