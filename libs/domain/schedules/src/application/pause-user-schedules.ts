import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DisabledUserListener, DisabledUserListeners } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { Timers } from './timers.js';

const REASON = 'The user whose schedule it is was disabled.';

/**
 * Pauses the personal schedules of a user who is disabled. Schedules of a team that the user saved belong to the team and
 * continue, as when the user leaves the team.
 */
@Injectable()
export class PauseUserSchedules extends DisabledUserListener implements OnModuleInit {
  constructor(
    private readonly listeners: DisabledUserListeners,
    private readonly store: SchedulesStore,
    private readonly timers: Timers,
  ) {
    super();
  }

  onModuleInit(): void {
    this.listeners.register(this);
  }

  override async userDisabled(tx: Queryable, userUid: string): Promise<void> {
    for (const uid of await this.store.enabledOf(tx, userUid)) {
      const schedule = await this.store.lock(tx, uid);
      if (!schedule?.enabled) continue;
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.disable(tx, uid, REASON);
    }
  }
}
