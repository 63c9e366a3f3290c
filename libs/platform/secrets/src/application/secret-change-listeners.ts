import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';

export interface ChangedSecret {
  readonly teamUid: string;
  readonly name: string;
  readonly version: number;
  /** In clear. */
  readonly value: string;
}

/** A new value of a secret that one of its users cannot use. */
export class SecretRejectedError extends Error {
  /** `reason` completes "`value` …", names what cannot use it, and never contains the value. */
  constructor(readonly reason: string) {
    super(`The value of a managed secret ${reason}.`);
    this.name = 'SecretRejectedError';
  }
}

/** Extension point for libraries that keep copies of managed secrets, or that prevent the deletion of a secret in use. */
export abstract class SecretChangeListener {
  /**
   * Called in the transaction that gives a secret a new value, with the secret's row locked; the listener updates its copies
   * in the same transaction. Throws a {@link SecretRejectedError} when the value cannot be used; the transaction is then
   * rolled back.
   */
  abstract changed(tx: Queryable, secret: ChangedSecret): Promise<void>;
  /** What uses the secret and so prevents its deletion, for people: `webhook deploys (uid …)`. */
  abstract usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]>;
}

/** The listeners of this process. Every process that changes managed secrets must register all of them. */
@Injectable()
export class SecretChangeListeners {
  private readonly listeners: SecretChangeListener[] = [];

  register(listener: SecretChangeListener): void {
    this.listeners.push(listener);
  }

  /** Calls them one after the other: the transaction has one connection. */
  async changed(tx: Queryable, secret: ChangedSecret): Promise<void> {
    for (const listener of this.listeners) await listener.changed(tx, secret);
  }

  async usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    const users: string[] = [];
    for (const listener of this.listeners) users.push(...(await listener.usedBy(tx, teamUid, name)));
    return users;
  }
}
