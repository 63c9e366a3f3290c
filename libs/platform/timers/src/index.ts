export type { Cron } from './domain/cron/croner-cron.js';
export { parseCron } from './domain/cron/parse-cron.js';
export { isTimeZone } from './domain/cron/time-zone.js';
export { TimerDispatcher, TimerSteps } from './timer-dispatcher.js';
export { type DueTimer, TimerHandler, TimerHandlers, type TimerOutcome } from './timer-handlers.js';
export { Timers } from './timers.store.js';
export { TimersJobsModule, TimersModule } from './timers.module.js';
