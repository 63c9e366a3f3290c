import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import type { Principal } from '../domain/principal.js';
import { hashToken, readBearer, type TokenRefusal } from '../domain/token.js';
import { type KnownToken, TokenQueries } from '../persistence/token-queries.js';

/** A revoked token or a changed role has its effect in every process after at most this time. */
export const TOKEN_CACHE_MS = 1000;
const MAX_CACHED = 10_000;

interface Entry {
  readonly queriedAt: number;
  readonly answer: Promise<KnownToken | null>;
}

/**
 * Finds the principal of an `Authorization` header. The result of a query is cached for one second, counted from the start of
 * the query; requests that arrive meanwhile share it.
 */
@Injectable()
export class TokenAuthenticator {
  private readonly cache = new Map<string, Entry>();

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
  }

  private lookUp(hash: Buffer): Promise<KnownToken | null> {
    const key = hash.toString('base64');
    const now = performance.now();
    const cached = this.cache.get(key);
    if (cached && now - cached.queriedAt < TOKEN_CACHE_MS) return cached.answer;
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    const answer = this.tokens.findByHash(hash);
    const entry = { queriedAt: now, answer };
    this.cache.set(key, entry);
    const remove = (): void => {
      if (this.cache.get(key) === entry) this.cache.delete(key);
    };
    // Failures and unknown tokens are not cached: an unknown token may be created at any moment.
    answer.then((known) => {
      if (known === null) remove();
    }, remove);
    return answer;
  }
}
