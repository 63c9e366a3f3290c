import type { MigrationClass } from '#libs/persistence';
import { Schedules1700000007001 } from './persistence/schedules-1700000007001.js';

export { FireTimers } from './application/fire-timers.js';
export { FIRING_SKILL_WAIT_MS } from './application/firing-limits.js';
export { type DueTimer, TimerHandler, type TimerOutcome } from './application/timer-handler.js';
export { TimerHandlers } from './application/timer-handlers.js';
export { TIMER_STEPS, type TimerStep, TimerSteps } from './application/timer-steps.js';
export { type RequestedTimer, Timers } from './application/timers.js';
export { type Cron, isTimeZone, parseCron, type ParsedCron } from './domain/cron/index.js';
export { SchedulesPlace } from './persistence/schedules-sealed-place.js';
export { SchedulesHttpModule } from './schedules-http.module.js';
export { SchedulesJobsModule } from './schedules-jobs.module.js';
export { ScheduleFiringsStore } from './persistence/schedule-firings.store.js';
export { SchedulesModule } from './schedules.module.js';
export { TimerFiringModule } from './timer-firing.module.js';
export { TimersModule } from './timers.module.js';
export const scheduleMigrations: readonly MigrationClass[] = [Schedules1700000007001];
