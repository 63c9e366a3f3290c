import type { Queue } from 'bullmq';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WakeUp } from './wake-up.js';

let added: number[];
let wakeUp: WakeUp;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const start = performance.now();
  added = [];
  const add = (): Promise<void> => {
    added.push(performance.now() - start);
    return Promise.resolve();
  };
  wakeUp = new WakeUp({ add } as unknown as Queue, 'place-runs', 10);
});
afterEach(() => vi.useRealTimers());

/** Sends wake-ups for a while, `perMs` in each millisecond. */
async function send(perMs: number, milliseconds: number): Promise<void> {
  for (let at = 0; at < milliseconds; at += 1) {
    for (let count = 0; count < perMs; count += 1) wakeUp.send();
    await vi.advanceTimersByTimeAsync(1);
  }
}

it('adds the first job at once, and those behind it with the spacing', async () => {
  wakeUp.send();
  await vi.advanceTimersByTimeAsync(1);
  wakeUp.send();
  wakeUp.send();
  await vi.advanceTimersByTimeAsync(50);
  expect(added).toEqual([0, 10]);
});

it('adds one job in 100 ms under load after a burst, and at once again after it', async () => {
  await send(1, 100);
  const first = added.length;
  expect(first).toBeGreaterThan(8);
  await send(1, 500);
  expect(added.length - first).toBeLessThanOrEqual(6);
  await vi.advanceTimersByTimeAsync(1000);
  const before = added.length;
  wakeUp.send();
  await vi.advanceTimersByTimeAsync(1);
  expect(added.length).toBe(before + 1);
});
