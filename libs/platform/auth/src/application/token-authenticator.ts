import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { Clock, maxEntries } from '#platform/kernel';
import { DatabaseListener, type Transaction } from '#platform/persistence';
import type { Principal } from '../domain/principal.js';
import { hashToken, isTokenShaped, readBearer, type TokenKind, type TokenRefusal } from '../domain/token.js';
import { type KnownToken, TokenQueries } from '../persistence/token-queries.js';

/** A revoked token or a changed role has its effect in every process after at most this time. */
export const TOKEN_CACHE_MS = 1000;
const MAX_CACHED = 10_000;

interface Lookup {
  readonly answer: Promise<KnownToken | null>;
  /** When there is an answer. */
  found?: KnownToken;
}

/** A result is cached for one second from the start of its query; requests that arrive meanwhile share it. */
@Injectable()
export class TokenAuthenticator {
  /** By hash. `ttlResolution` 0: the default sets a timer for each millisecond in which the cache is used. */
  private readonly cache = new LRUCache<string, Lookup>({
    ...maxEntries(MAX_CACHED),
    ttl: TOKEN_CACHE_MS,
    ttlResolution: 0,
  });

  private clearings = 0;

  constructor(
    private readonly tokens: TokenQueries,
    private readonly clock: Clock,
  ) {}

  /** Another value after each change of access. */
  get generation(): number {
    return this.clearings;
  }

  async authenticate(header: string | undefined): Promise<Principal | TokenRefusal> {
    const read = readBearer(header);
    return 'refusal' in read ? read.refusal : this.authenticateAs('api', read.token);
  }

  /** The principal of a session, or why there is none. `value`: of its cookie. */
  async authenticateSession(value: string): Promise<Principal | TokenRefusal> {
    return isTokenShaped(value, 'session') ? this.authenticateAs('session', value) : 'malformed';
  }

  /** The principal of a token that was authenticated within the last second; undefined: another call of {@link authenticate} decides. */
  cached(header: string | undefined): Principal | undefined {
    const read = readBearer(header);
    const known = 'refusal' in read ? undefined : this.cache.get(keyOf(hashToken(read.token)))?.found;
    const principal = known && this.principalOf(known, 'api');
    return typeof principal === 'string' ? undefined : principal;
  }

  private async authenticateAs(kind: TokenKind, token: string): Promise<Principal | TokenRefusal> {
    return this.principalOf(await this.lookUp(hashToken(token)), kind);
  }

  private principalOf(known: KnownToken | null, kind: TokenKind): Principal | TokenRefusal {
    if (known?.kind !== kind) return 'unknown';
    if (known.revoked) return 'revoked';
    // Evaluated per request: a token also expires on time while it is cached.
    if (known.expiresAt !== null && known.expiresAt.getTime() <= this.clock.now().getTime()) return 'expired';
    return known.principal;
  }

  /** The UIDs of those tokens that are not valid any more; for connections that are open longer than their request. */
  async ended(tokenUids: readonly string[]): Promise<string[]> {
    return tokenUids.length === 0 ? [] : this.tokens.findEnded(tokenUids);
  }

  /** Clears the cache, so that a process that revokes tokens rejects them at once. */
  clearCache(): void {
    this.cache.clear();
    this.clearings += 1;
  }

  private lookUp(hash: Buffer): Promise<KnownToken | null> {
    const key = keyOf(hash);
    const cached = this.cache.get(key);
    if (cached) return cached.answer;
    const lookup: Lookup = { answer: this.tokens.findByHash(hash) };
    this.cache.set(key, lookup);
    const remove = (): void => {
      if (this.cache.peek(key) === lookup) this.cache.delete(key);
    };
    // Failures and unknown tokens are not cached: an unknown token may be created at any moment.
    lookup.answer.then((known) => {
      if (known === null) remove();
      else lookup.found = known;
    }, remove);
    return lookup.answer;
  }
}

const keyOf = (hash: Buffer): string => hash.toString('latin1');

const CHANNEL = 'headrace_access';

/**
 * Announces to all processes that tokens were revoked, or permissions changed. This only shortens the time until it has an effect: the state of a
 * token is cached for a second, and long-lived connections check it periodically.
 */
@Injectable()
export class AccessChanges {
  constructor(
    private readonly listener: DatabaseListener,
    private readonly authenticator: TokenAuthenticator,
  ) {}

  /** Sent when the transaction commits. This process does not wait until the announcement arrives. */
  async announce(tx: Transaction): Promise<void> {
    tx.afterCommit(() => {
      this.authenticator.clearCache();
    });
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
