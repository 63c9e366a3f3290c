import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { type RunChange, RunStateListeners, RunStateListener } from '#execution/executions';
import { SchedulesStore } from '../persistence/schedules.store.js';

/** Notes when a run of a schedule has succeeded, with the move that says so. A round trip for each run that does. */
@Injectable()
export class LastSuccesses extends RunStateListener implements OnModuleInit {
  constructor(
    private readonly transitions: RunStateListeners,
    private readonly store: SchedulesStore,
  ) {
    super();
  }

  onModuleInit(): void {
    this.transitions.register(this);
  }

  override async record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void> {
    if (changes.some(({ state }) => state === 'SUCCEEDED')) await this.store.noteSuccess(tx, runId);
  }
}
