import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import type { Principal } from '../domain/principal.js';
import { hashToken, readBearer, type TokenRefusal } from '../domain/token.js';
import { type KnownToken, TokenQueries } from '../persistence/token-queries.js';

/** For at most this long a revoked token or a former role still works in each process. */
export const TOKEN_CACHE_MS = 1000;
const MAX_CACHED = 10_000;

/**
 * The principal of an `Authorization` header. The answer of the database is cached for one second, counted from the start of
 * the query; requests that arrive meanwhile wait for the same answer.
 */
@Injectable()
export class TokenAuthenticator {
  /** By hash. `ttlResolution` 0: the default sets a timer for each millisecond in which the cache is used. */
  private readonly cache = new LRUCache<string, Promise<KnownToken | null>>({
    max: MAX_CACHED,
    ttl: TOKEN_CACHE_MS,
    ttlResolution: 0,
  });

  constructor(
    private readonly tokens: TokenQueries,
    private readonly clock: Clock,
  ) {}

  async authenticate(header: string | undefined): Promise<Principal | TokenRefusal> {
    const read = readBearer(header);
    if ('refusal' in read) return read.refusal;
    const known = await this.lookUp(hashToken(read.token));
    if (!known) return 'unknown';
    if (known.revoked) return 'revoked';
    // Compared for every request: a token expires on time, also within the second.
    if (known.expiresAt !== null && known.expiresAt.getTime() <= this.clock.now().getTime()) return 'expired';
    return known.principal;
  }

  /** Which of these tokens, by uid, are no longer valid; for connections that outlive the request that opened them. */
  async ended(tokenUids: readonly string[]): Promise<string[]> {
    return tokenUids.length === 0 ? [] : this.tokens.findEnded(tokenUids);
  }

  /** For the process that has just revoked tokens: they end here at once. */
  forgetKnown(): void {
    this.cache.clear();
  }

  private lookUp(hash: Buffer): Promise<KnownToken | null> {
    const key = hash.toString('base64');
    const cached = this.cache.get(key);
    if (cached) return cached;
    const answer = this.tokens.findByHash(hash);
    this.cache.set(key, answer);
    const forget = (): void => {
      if (this.cache.peek(key) === answer) this.cache.delete(key);
    };
    // A failed query is no answer, and a token that is unknown now may be created the next moment.
    answer.then((known) => {
      if (known === null) forget();
    }, forget);
    return answer;
  }
}
