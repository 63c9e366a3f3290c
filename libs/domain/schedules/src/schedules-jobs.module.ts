import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TimerPump } from './jobs/timer-pump.js';
import { TimerUpkeep } from './jobs/timer-upkeep.js';
import { TimerFiringModule } from './timer-firing.module.js';

/** The room's background work, for the processor: the clock of schedules, and of whatever else has timers. */
@Module({ imports: [ScheduleModule.forRoot(), TimerFiringModule], providers: [TimerPump, TimerUpkeep] })
export class SchedulesJobsModule {}
