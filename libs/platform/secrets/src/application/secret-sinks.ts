import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';

export interface ChangedSecret {
  readonly teamUid: string;
  readonly name: string;
  readonly version: number;
  /** In clear. */
  readonly value: string;
}

/** A value that something which uses the secret cannot use. */
export class SecretRefusedError extends Error {
  /** `reason` completes "`value` …", names what cannot use it, and never the value. */
  constructor(readonly reason: string) {
    super(`The value of a managed secret ${reason}.`);
    this.name = 'SecretRefusedError';
  }
}

/** For rooms that keep copies of managed secrets, or need one to stay. */
export abstract class SecretSink {
  /**
   * A secret of a team has a new value, in this transaction: the sink brings its copies up to date there. The secret's
   * row is locked. Throws a {@link SecretRefusedError} when the value cannot be used; then nothing changes.
   */
  abstract changed(tx: Queryable, secret: ChangedSecret): Promise<void>;
  /** What keeps the secret from being deleted, in words for a person: `webhook deploys (uid …)`. */
  abstract usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]>;
}

/** The sinks of this process. Every process that changes managed secrets must have all of them. */
@Injectable()
export class SecretSinks {
  private readonly sinks: SecretSink[] = [];

  register(sink: SecretSink): void {
    this.sinks.push(sink);
  }

  /** One after the other: the transaction has one connection. */
  async changed(tx: Queryable, secret: ChangedSecret): Promise<void> {
    for (const sink of this.sinks) await sink.changed(tx, secret);
  }

  async usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    const users: string[] = [];
    for (const sink of this.sinks) users.push(...(await sink.usedBy(tx, teamUid, name)));
    return users;
  }
}
