import { describe, expect, it } from 'vitest';
import { RejectionPause } from './rejection-pause.js';

describe('the pause after a rejection', () => {
  it('doubles from a second to half a minute', () => {
    const pause = new RejectionPause();
    let now = 0;
    const lengths = Array.from({ length: 7 }, () => {
      const length = pause.begin(now);
      now += length;
      return length;
    });
    expect(lengths).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  });

  it('is not made longer by the same rejection again', () => {
    const pause = new RejectionPause();
    pause.begin(0);
    expect(pause.begin(999)).toBe(0);
    expect(pause.left(999)).toBe(1);
    expect(pause.begin(1000)).toBe(2000);
  });

  it('begins anew after a completed task', () => {
    const pause = new RejectionPause();
    pause.begin(0);
    expect(pause.end(500)).toBe(true);
    expect(pause.end(500)).toBe(false);
    expect(pause.left(500)).toBe(0);
    expect(pause.begin(600)).toBe(1000);
  });
});
