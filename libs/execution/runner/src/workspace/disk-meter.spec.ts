import { describe, expect, it } from 'vitest';
import { pauseAfter } from './workspace.js';

describe('the pause between two measurements of a workspace', () => {
  it.each([
    [0, 1_000],
    [20, 1_980],
    [500, 10_000],
    [60_000, 10_000],
  ])('after a measure of %i ms is %i ms', (measureMs, pauseMs) => {
    expect(pauseAfter(measureMs)).toBe(pauseMs);
  });
});
