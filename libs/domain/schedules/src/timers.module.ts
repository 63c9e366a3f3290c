import { Module } from '@nestjs/common';
import { TimerHandlers } from './application/timer-handlers.js';
import { Timers } from './application/timers.js';
import { TimersStore } from './persistence/timers.store.js';

/** What is to happen at certain times. Who brings another kind of timer imports this, and registers a `TimerHandler`. */
@Module({
  providers: [TimersStore, Timers, TimerHandlers],
  exports: [TimersStore, Timers, TimerHandlers],
})
export class TimersModule {}
