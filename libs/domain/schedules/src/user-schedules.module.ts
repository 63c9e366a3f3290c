import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { PauseUserSchedules } from './application/pause-user-schedules.js';
import { SchedulesStore } from './persistence/schedules.store.js';
import { TimersModule } from './timers.module.js';

/** What disabling a user means for schedules, for the process that disables users. */
@Module({ imports: [AuthModule, TimersModule], providers: [SchedulesStore, PauseUserSchedules] })
export class UserSchedulesModule {}
