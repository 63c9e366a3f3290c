import { describe, expect, it } from 'vitest';
import { FrameAllowance } from './frame-allowance.js';

const taken = (allowance: FrameAllowance, now: number, asked = 10_000): number =>
  Array.from({ length: asked }, () => allowance.take(now)).filter((ok) => ok).length;

describe('the allowance of frames', () => {
  it('lets a burst through, then what comes back each second', () => {
    const allowance = new FrameAllowance(0);
    expect(taken(allowance, 0)).toBe(500);
    expect(taken(allowance, 1_000)).toBe(50);
    expect(taken(allowance, 1_010)).toBe(0);
  });

  it('saves up no more than a burst', () => {
    const allowance = new FrameAllowance(0);
    taken(allowance, 0);
    expect(taken(allowance, 1_000_000)).toBe(500);
  });
});
