import { Injectable } from '@nestjs/common';
import { DatabaseListener, type Queryable } from '#platform/persistence';
import { TokenAuthenticator } from './token-authenticator.js';

const CHANNEL = 'headrace_access';

/**
 * Announces to all processes that tokens were revoked. This only shortens the time until it has an effect: the state of a
 * token is cached for a second, and long-lived connections check it periodically.
 */
@Injectable()
export class AccessChanges {
  constructor(
    private readonly listener: DatabaseListener,
    private readonly authenticator: TokenAuthenticator,
  ) {}

  /** Sent when the transaction commits. */
  async announce(tx: Queryable): Promise<void> {
    await tx.query(`SELECT pg_notify('${CHANNEL}', '')`);
  }

  /** Calls the handler after each announcement, with a cleared cache of tokens. Returns the function that unsubscribes. */
  subscribe(handler: () => void): () => void {
    return this.listener.subscribe(CHANNEL, () => {
      this.authenticator.clearCache();
      handler();
    });
  }
}
