import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DisabledUserListener, DisabledUserListeners } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import { EnvironmentsStore } from '../persistence/environments.store.js';

/** Ends what refers to the personal environments of a user whose account another person may have had: grants, links, schedules and runs. */
@Injectable()
export class EndUsesOfPersonalEnvironments extends DisabledUserListener implements OnModuleInit {
  constructor(
    private readonly listeners: DisabledUserListeners,
    private readonly store: EnvironmentsStore,
  ) {
    super();
  }

  onModuleInit(): void {
    this.listeners.register(this);
  }

  /** A user who is disabled may be enabled again. */
  override async userDisabled(): Promise<void> {}

  override addressVerified(tx: Queryable, userUid: string): Promise<void> {
    return this.store.endUsesOfOwner(tx, userUid);
  }
}
