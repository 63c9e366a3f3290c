import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DisabledUserListener, DisabledUserListeners } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import { EnvironmentGrantsStore } from '../persistence/environment-grants.store.js';

/** Ends what refers to the personal environments of a user whose account another person may have had: grants, links, schedules and runs. */
@Injectable()
export class EndSharingOfEarlierUser extends DisabledUserListener implements OnModuleInit {
  constructor(
    private readonly listeners: DisabledUserListeners,
    private readonly grants: EnvironmentGrantsStore,
  ) {
    super();
  }

  onModuleInit(): void {
    this.listeners.register(this);
  }

  /** A user who is disabled may be enabled again. */
  override async userDisabled(): Promise<void> {}

  override addressVerified(tx: Queryable, userUid: string): Promise<void> {
    return this.grants.endUsesOfOwner(tx, userUid);
  }
}
