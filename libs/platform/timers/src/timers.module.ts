import { Injectable, Module } from '@nestjs/common';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { TimerDispatcher, TimerSteps } from './timer-dispatcher.js';
import { TimerHandlers } from './timer-handlers.js';
import { Timers, TimersStore } from './timers.store.js';

const FIRE_TIMERS_TASK = defineTask({
  name: 'fire-timers',
  library: 'timers',
  process: 'processor',
  scope: 'process',
  period: { text: '`SCHEDULE_POLL`', of: ({ schedulePoll }) => schedulePoll },
  description: 'Fires due timers, batch by batch until none is due. All processes read the clock of the database.',
});
const RECORD_HEARTBEAT_TASK = defineTask({
  name: 'record-heartbeat',
  library: 'timers',
  process: 'processor',
  scope: 'process',
  period: 5000,
  description: 'Records that a process looks for due timers, also while a batch takes long; a longer gap is an outage.',
});
const PRUNE_OUTAGES_TASK = defineTask({
  name: 'prune-outages',
  library: 'timers',
  process: 'processor',
  scope: 'process',
  period: 600_000,
  description: 'Deletes outages older than 30 days that no timer waits behind.',
});

/** Timers and the registry of their handlers. A library with a kind of timers imports this and registers a `TimerHandler`. */
@Module({
  providers: [TimersStore, Timers, TimerHandlers, TimerSteps, TimerDispatcher],
  exports: [Timers, TimerHandlers, TimerSteps, TimerDispatcher, TimersStore],
})
export class TimersModule {}

@Injectable()
class TimerTasks {
  constructor(tasks: BackgroundTasks, dispatcher: TimerDispatcher, store: TimersStore) {
    tasks.implement(FIRE_TIMERS_TASK, async () => ((await dispatcher.dispatchDue()) > 0 ? 'again' : undefined));
    tasks.implement(RECORD_HEARTBEAT_TASK, () => dispatcher.recordHeartbeat());
    tasks.implement(PRUNE_OUTAGES_TASK, () => store.pruneOutages());
  }
}

@Module({ imports: [TimersModule], providers: [TimerTasks] })
export class TimersJobsModule {}
