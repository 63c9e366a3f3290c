import { describe, expect, it } from 'vitest';
import { RATE_WINDOW_MS, WindowStorage } from './rate-limit.js';

describe('WindowStorage', () => {
  it('admits exactly the limit in a window, by key, and begins again after it', async () => {
    let now = 1000;
    const storage = new WindowStorage(() => now);
    const hit = (key: string) => storage.increment(key, RATE_WINDOW_MS, 3);
    const blocked = [];
    for (const key of ['a', 'a', 'a', 'a', 'b']) blocked.push((await hit(key)).isBlocked);
    expect(blocked).toEqual([false, false, false, true, false]);
    now += 59_500;
    expect(await hit('a')).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    now += 500;
    expect(await hit('a')).toMatchObject({ isBlocked: false, totalHits: 1, timeToExpire: 60 });
  });
});
