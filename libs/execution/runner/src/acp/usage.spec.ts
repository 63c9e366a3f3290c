import { describe, expect, it } from 'vitest';
import { SessionCost } from './usage.js';

const first = (total: number, resumed: boolean, earlier?: number): number | undefined => {
  const cost = new SessionCost();
  cost.startSession(resumed, earlier);
  cost.note(total);
  return cost.growth();
};

describe('the cost of a session', () => {
  it('is counted by its increase', () => {
    const cost = new SessionCost();
    expect(cost.growth()).toBeUndefined();
    cost.note(0.5);
    expect([cost.growth(), cost.growth()]).toEqual([0.5, 0]);
    cost.note(0.75);
    expect(cost.growth()).toBe(0.25);
    cost.note(0.25);
    expect(cost.growth()).toBe(0);
  });

  it('continues counting after a resume, whether the agent continues or restarts its sum', () => {
    expect(first(0.75, true, 0.5)).toBe(0.25);
    expect(first(0.25, true, 0.5)).toBe(0.25);
    expect(first(0.25, true, 0)).toBe(0.25);
    expect(first(0.25, false, 0.5)).toBe(0.25);
  });

  it('is not known from the first sum of a session with uncounted turns', () => {
    expect(first(0.75, true)).toBe(0);
  });

  it('does not count replayed sums', () => {
    const cost = new SessionCost();
    cost.replayed(0.5);
    cost.startSession(true);
    expect(cost.growth()).toBe(0);
    cost.note(0.75);
    expect(cost.growth()).toBe(0.25);
  });
});
