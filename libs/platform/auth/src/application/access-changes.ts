import { Injectable } from '@nestjs/common';
import { DatabaseListener, type Queryable } from '#platform/persistence';
import { TokenAuthenticator } from './token-authenticator.js';

const CHANNEL = 'headrace_access';

/**
 * Announces to all processes that tokens ended which were valid a moment ago. It only makes things faster: what the
 * database says about a token is cached for a second, and long-lived connections ask again by themselves.
 */
@Injectable()
export class AccessChanges {
  constructor(
    private readonly listener: DatabaseListener,
    private readonly authenticator: TokenAuthenticator,
  ) {}

  /** With the transaction's commit. */
  async announce(tx: Queryable): Promise<void> {
    await tx.query(`SELECT pg_notify('${CHANNEL}', '')`);
  }

  /** Calls the handler after each announcement, with an empty cache of tokens, until the returned function is called. */
  subscribe(handler: () => void): () => void {
    return this.listener.subscribe(CHANNEL, () => {
      this.authenticator.forgetKnown();
      handler();
    });
  }
}
