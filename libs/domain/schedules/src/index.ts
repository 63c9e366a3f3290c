export { FIRING_SKILL_WAIT_MS } from './application/schedule-launcher.js';
export { ScheduleFiringsStore } from './persistence/schedule-firings.store.js';
export { SchedulesPlace } from './persistence/schedules-sealed-place.js';
export { SchedulesHttpModule, SchedulesJobsModule, SchedulesModule } from './schedules.module.js';
