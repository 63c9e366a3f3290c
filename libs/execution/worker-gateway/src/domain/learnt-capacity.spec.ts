import { describe, expect, it } from 'vitest';
import { LearntCapacity } from './learnt-capacity.js';

describe('LearntCapacity', () => {
  it('knows nothing before the first rejection', () => {
    const capacity = new LearntCapacity();
    expect([capacity.claimed(3), capacity.ended(2), capacity.slots]).toEqual([false, false, null]);
  });

  it('takes the number of runs at a rejection as the slots, and pauses longer each time', () => {
    const capacity = new LearntCapacity();
    const pauses: number[] = [];
    for (let now = 0, round = 0; round < 7; round += 1) {
      const pause = capacity.rejected(2, now);
      expect(capacity.pausedMs(now + 400)).toBe(pause - 400);
      pauses.push(pause);
      now += pause;
      expect(capacity.pausedMs(now)).toBe(0);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(capacity.slots).toBe(2);
  });

  it('begins no second pause for another rejection during a pause', () => {
    const capacity = new LearntCapacity();
    expect([capacity.rejected(2, 0), capacity.rejected(1, 10), capacity.slots]).toEqual([1_000, 0, 1]);
    expect(capacity.rejected(1, 1_000)).toBe(2_000);
  });

  it('raises the slots and ends the pause when more is claimed', () => {
    const capacity = new LearntCapacity();
    capacity.rejected(1, 0);
    expect([capacity.claimed(1), capacity.claimed(2), capacity.slots, capacity.pausedMs(1)]).toEqual([
      false,
      true,
      2,
      0,
    ]);
    expect(capacity.rejected(2, 10)).toBe(1_000);
  });

  it('has at least one free slot after an end, and keeps the pause', () => {
    const capacity = new LearntCapacity();
    capacity.rejected(0, 0);
    expect([capacity.ended(0), capacity.slots, capacity.ended(0)]).toEqual([true, 1, false]);
    expect(capacity.pausedMs(400)).toBe(600);
  });
});
