import { describe, expect, it } from 'vitest';
import type { ReachedTrigger } from '../persistence/firing.store.js';
import { decideFiring } from './fire-automations.js';

const LATE = new Error('late');
const reached = (count: number): ReachedTrigger[] =>
  Array.from({ length: count }, (_, index) => ({
    automationId: String(index),
    automationUid: `automation ${index}`,
    version: '1',
    enabled: true,
    position: 0,
    trigger: { provider: 'p', event: 'e' },
  }));
const busyFor = (ms: number): void => {
  for (const began = performance.now(); performance.now() - began < ms;);
};

describe('decideFiring', () => {
  it('yields to the event loop with many triggers, and stops when its signal is aborted', async () => {
    const ending = new AbortController();
    let checked = 0;
    setTimeout(() => ending.abort(LATE), 0);
    const deciding = decideFiring(
      reached(1000),
      () => {
        checked += 1;
        busyFor(5);
        return [{ check: 'payload', passed: true, reason: 'It matches.' }];
      },
      ending.signal,
    );
    await expect(deciding).rejects.toBe(LATE);
    expect(checked).toBeLessThan(1000);
  });

  it('returns the first matching trigger of an automation, or why none matched', async () => {
    const [one, other, off] = reached(3);
    if (!one || !other || !off) throw new Error('There are three.');
    const decisions = await decideFiring(
      [one, { ...one, position: 1 }, other, { ...other, position: 1 }, { ...off, enabled: false }],
      ({ automationId, position }) => [
        { check: 'payload', passed: automationId === '0' && position === 1, reason: `${automationId}/${position}.` },
      ],
    );
    expect(decisions.map(({ matched, reason }) => ({ matched, reason }))).toEqual([
      { matched: true, reason: '0/1.' },
      { matched: false, reason: '1/0. 1/1.' },
      { matched: false, reason: 'The automation is disabled.' },
    ]);
  });
});
