import { describe, expect, it } from 'vitest';
import { RateWindows } from './rate-limit.js';

describe('RateWindows', () => {
  it('counts requests by key, and begins again after a minute', () => {
    let now = 1000;
    const windows = new RateWindows(() => now);
    const hits = ['a', 'a', 'a', 'a', 'b'].map((key) => windows.hit(key).hits);
    expect(hits).toEqual([1, 2, 3, 4, 1]);
    now += 59_500;
    expect(windows.hit('a')).toEqual({ hits: 5, seconds: 1 });
    now += 500;
    expect(windows.hit('a')).toEqual({ hits: 1, seconds: 60 });
  });
});
