import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DisabledUserListener, DisabledUserListeners } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import { Extension } from '#platform/plugins';
import { type RunChange, RunStateListener } from '#execution/executions';
import { Timers } from '#platform/timers';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';

const REASON = 'The user whose schedule it is was disabled, or another person may have had the account.';

/**
 * Pauses the personal schedules of a user who is disabled. Schedules of a team that the user saved belong to the team and
 * continue, as when the user leaves the team.
 */
@Injectable()
export class PauseSchedulesOfDisabledUsers extends DisabledUserListener implements OnModuleInit {
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

  /** What the person saved for a team continues, without the environments that others share with the user. */
  override addressVerified(tx: Queryable, userUid: string): Promise<void> {
    return this.store.removeEditor(tx, userUid);
  }
}

/** Records when a run of a schedule succeeds, in the transaction of the transition. One round trip for each such run. */
@Extension()
export class RecordScheduleSuccess extends RunStateListener {
  constructor(private readonly store: SchedulesStore) {
    super();
  }

  override async record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void> {
    if (changes.some(({ state }) => state === 'SUCCEEDED')) await this.store.noteSuccess(tx, runId);
  }
}
