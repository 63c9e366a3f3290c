import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import type { Principal } from '../domain/principal.js';
import { hashToken, readBearer, type TokenRefusal } from '../domain/token.js';
import { type KnownToken, TokenQueries } from '../persistence/token-queries.js';

/** A revoked token, or a changed role, works on for at most this long in each process. */
export const TOKEN_CACHE_MS = 1000;
const MAX_CACHED = 10_000;

interface Entry {
  readonly askedAt: number;
  readonly answer: Promise<KnownToken | null>;
}

/**
 * The principal of an `Authorization` header. What the database said is kept for one second, counted from before it was
 * asked; requests that come meanwhile wait for the same answer.
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
    // Not cached: a token ends on time, also within the second.
    if (known.expiresAt !== null && known.expiresAt.getTime() <= this.clock.now().getTime()) return 'expired';
    return known.principal;
  }

  /** Which of these tokens, by uid, count no more; for connections that outlive the request they were let in with. */
  async ended(tokenUids: readonly string[]): Promise<string[]> {
    return tokenUids.length === 0 ? [] : this.tokens.findEnded(tokenUids);
  }

  /** For the process that has just ended tokens: here they end at once. */
  forgetKnown(): void {
    this.cache.clear();
  }

  private lookUp(hash: Buffer): Promise<KnownToken | null> {
    const key = hash.toString('base64');
    const now = performance.now();
    const cached = this.cache.get(key);
    if (cached && now - cached.askedAt < TOKEN_CACHE_MS) return cached.answer;
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    const answer = this.tokens.findByHash(hash);
    const entry = { askedAt: now, answer };
    this.cache.set(key, entry);
    const forget = (): void => {
      if (this.cache.get(key) === entry) this.cache.delete(key);
    };
    // A fault is nobody's answer, and a token that is unknown now may be made the next moment.
    answer.then((known) => {
      if (known === null) forget();
    }, forget);
    return answer;
  }
}
