import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#platform/kernel';
import type { Principal } from '../domain/principal.js';
import { newToken } from '../domain/token.js';
import type { KnownToken, TokenQueries } from '../persistence/token-queries.js';
import { TokenAuthenticator } from './token-authenticator.js';

const principal: Principal = { type: 'user', uid: 'u', displayName: 'U', memberships: [], tokenUid: 't' };
const header = `Bearer ${newToken()}`;
const start = Date.parse('2026-11-30T09:00:00Z');

class FixedClock extends Clock {
  at = start;
  override now = (): Date => new Date(this.at);
}

describe('TokenAuthenticator', () => {
  const findByHash = vi.fn<() => Promise<KnownToken | null>>();
  let clock: FixedClock;
  let authenticator: TokenAuthenticator;

  beforeEach(() => {
    findByHash.mockReset().mockResolvedValue({ principal, expiresAt: null, revoked: false, kind: 'api' as const });
    clock = new FixedClock();
    authenticator = new TokenAuthenticator({ findByHash } as unknown as TokenQueries, clock);
  });

  it('asks once for requests that come together, and for those right after', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => authenticator.authenticate(header)));
    expect(answers).toEqual(Array.from({ length: 20 }, () => principal));
    await authenticator.authenticate(header);
    expect(findByHash).toHaveBeenCalledTimes(1);
  });

  it('does not ask for what cannot be a token', async () => {
    await expect(authenticator.authenticate('Bearer nonsense')).resolves.toBe('malformed');
    await expect(authenticator.authenticate(undefined)).resolves.toBe('missing');
    expect(findByHash).not.toHaveBeenCalled();
  });

  it('forgets that a token is unknown: it may be made the next moment', async () => {
    findByHash.mockResolvedValueOnce(null);
    await expect(authenticator.authenticate(header)).resolves.toBe('unknown');
    await expect(authenticator.authenticate(header)).resolves.toBe(principal);
  });

  it('passes a fault on to all who wait, and asks again after it', async () => {
    findByHash.mockRejectedValueOnce(new Error('database away'));
    const both = await Promise.allSettled([authenticator.authenticate(header), authenticator.authenticate(header)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(authenticator.authenticate(header)).resolves.toBe(principal);
  });

  it('ends a token on time although it is cached', async () => {
    findByHash.mockResolvedValue({ principal, expiresAt: new Date(start + 500), revoked: false, kind: 'api' as const });
    await expect(authenticator.authenticate(header)).resolves.toBe(principal);
    clock.at += 500;
    await expect(authenticator.authenticate(header)).resolves.toBe('expired');
    expect(findByHash).toHaveBeenCalledTimes(1);
  });

  it('queries again after the cache is cleared', async () => {
    await authenticator.authenticate(header);
    findByHash.mockResolvedValue({ principal, expiresAt: null, revoked: true, kind: 'api' as const });
    authenticator.clearCache();
    await expect(authenticator.authenticate(header)).resolves.toBe('revoked');
  });

  it('refuses a revoked one', async () => {
    findByHash.mockResolvedValue({ principal, expiresAt: null, revoked: true, kind: 'api' as const });
    await expect(authenticator.authenticate(header)).resolves.toBe('revoked');
  });
});
