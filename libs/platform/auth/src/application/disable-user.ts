import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import { AccessChanges } from './access-changes.js';

/** Ends what belongs to a user who is being disabled. */
export abstract class DisabledUserListener {
  /** In the transaction that disables the user; a failure undoes it. */
  abstract userDisabled(tx: Queryable, userUid: string): Promise<void>;
}

/** The listeners of this process. Every process that disables users must have all of them. */
@Injectable()
export class DisabledUserListeners {
  private readonly listeners: DisabledUserListener[] = [];

  register(listener: DisabledUserListener): void {
    this.listeners.push(listener);
  }

  async userDisabled(tx: Queryable, userUid: string): Promise<void> {
    for (const listener of this.listeners) await listener.userDisabled(tx, userUid);
  }
}

export type DisableUserResult = { readonly kind: 'disabled' | 'already_disabled' | 'unknown' };
export type EnableUserResult = { readonly kind: 'enabled' | 'not_disabled' | 'unknown' };

/**
 * From the commit on all tokens of the user are refused, and what the user's tokens opened is closed. Memberships and
 * tokens stay, so that enabling the user undoes it; what was paused or cancelled stays so.
 */
@Injectable()
export class DisableUser {
  constructor(
    private readonly database: Database,
    private readonly listeners: DisabledUserListeners,
    private readonly changes: AccessChanges,
  ) {}

  execute(userUid: string): Promise<DisableUserResult> {
    return this.database.transaction(async (tx): Promise<DisableUserResult> => {
      const [user] = await lockUser(tx, userUid);
      if (!user) return { kind: 'unknown' };
      if (user.is_disabled) return { kind: 'already_disabled' };
      await tx.query('UPDATE headrace.users SET disabled_at = headrace.now() WHERE uid = $1', [userUid]);
      await this.listeners.userDisabled(tx, userUid);
      await this.changes.announce(tx);
      return { kind: 'disabled' };
    });
  }
}

@Injectable()
export class EnableUser {
  constructor(
    private readonly database: Database,
    private readonly changes: AccessChanges,
  ) {}

  execute(userUid: string): Promise<EnableUserResult> {
    return this.database.transaction(async (tx): Promise<EnableUserResult> => {
      const [user] = await lockUser(tx, userUid);
      if (!user) return { kind: 'unknown' };
      if (!user.is_disabled) return { kind: 'not_disabled' };
      await tx.query('UPDATE headrace.users SET disabled_at = NULL WHERE uid = $1', [userUid]);
      await this.changes.announce(tx);
      return { kind: 'enabled' };
    });
  }
}

const lockUser = (tx: Queryable, userUid: string): Promise<{ is_disabled: boolean }[]> =>
  tx.query('SELECT disabled_at IS NOT NULL AS is_disabled FROM headrace.users WHERE uid = $1 FOR UPDATE', [userUid]);
