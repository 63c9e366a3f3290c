export { FIRING_SKILL_WAIT_MS } from './application/schedule-launcher.js';
export { ScheduleFiringsStore } from './persistence/schedule-firings.store.js';
export { SCHEDULES_ENCRYPTED_COLUMNS } from './persistence/schedules.store.js';
export { SchedulesHttpModule, SchedulesJobsModule, SchedulesModule } from './schedules.module.js';
