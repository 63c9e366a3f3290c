import { describe, expect, it } from 'vitest';
import { RejectionDelay } from './rejection-delay.js';

describe('RejectionDelay', () => {
  it('answers as many as fit into a second at once, and the next ones at the rate, after at most two seconds', () => {
    const pace = new RejectionDelay(10, () => 0);
    expect(Array.from({ length: 10 }, () => pace.next())).toEqual(Array.from({ length: 10 }, () => 0));
    expect([pace.next(), pace.next(), pace.next()]).toEqual([100, 200, 300]);
    const later = Array.from({ length: 100 }, () => pace.next());
    expect(Math.max(...later)).toBe(2000);
  });

  it('works its backlog off with time', () => {
    let now = 0;
    const pace = new RejectionDelay(10, () => now);
    for (let count = 0; count < 12; count += 1) pace.next();
    expect(pace.isIdle).toBe(false);
    now = 1200;
    expect(pace.isIdle).toBe(true);
    expect(pace.next()).toBe(0);
  });
});
