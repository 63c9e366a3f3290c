import { describe, expect, it } from 'vitest';
import { MAX_ATTEMPTS, waitAfter } from './retry-schedule.js';

const DAY = 86_400_000;
const waits = (random: number): number[] =>
  Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => waitAfter(index + 1, random) ?? Number.NaN);

describe('waitAfter', () => {
  it('grows from seconds to a day, for two to three days in total', () => {
    for (const random of [0, 0.999]) {
      const all = waits(random);
      expect(all).toEqual([...all].sort((a, b) => a - b));
      expect(all[0]).toBeLessThanOrEqual(6000);
      const total = all.reduce((sum, wait) => sum + wait, 0);
      expect(total).toBeGreaterThan(2 * DAY);
      expect(total).toBeLessThan(3 * DAY);
    }
    expect(waitAfter(MAX_ATTEMPTS, 0)).toBeNull();
  });

  it('adds a random part to each delay', () => {
    expect(waits(0.9).every((wait, index) => wait > (waits(0)[index] ?? 0))).toBe(true);
  });

  it('is extended by Retry-After up to a day, and never shortened', () => {
    expect(waitAfter(1, 0, 60_000)).toBe(60_000);
    expect(waitAfter(4, 0, 60_000)).toBe(600_000);
    expect(waitAfter(1, 0, 40 * DAY)).toBe(DAY);
  });
});
