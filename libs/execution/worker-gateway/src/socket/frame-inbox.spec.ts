import { beforeEach, describe, expect, it } from 'vitest';
import { KeyedSemaphore } from '#platform/kernel';
import { FrameInbox } from './frame-inbox.js';

const away = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

let events: string[];
let semaphore: KeyedSemaphore;
let now: number;
let isOpen: boolean;

beforeEach(() => {
  events = [];
  semaphore = new KeyedSemaphore({ total: 16 });
  now = 0;
  isOpen = true;
});

const inbox = (): FrameInbox =>
  new FrameInbox(
    {
      failed: (what, error) => events.push(`${what} failed: ${(error as Error).message}`),
      isOpen: () => isOpen,
      hold: () => events.push('hold'),
      resume: () => events.push('resume'),
    },
    semaphore,
    {
      now: () => now,
      wait: (milliseconds) => {
        now += milliseconds;
        return Promise.resolve();
      },
    },
  );

const done = (name: string) => (): Promise<void> => {
  events.push(name);
  return Promise.resolve();
};

describe('the inbox of a connection', () => {
  it('does one after the other, in their order', async () => {
    const box = inbox();
    let release = (): void => undefined;
    box.push('a', () => new Promise<void>((resolve) => (release = resolve)).then(done('a')));
    box.push('b', done('b'));
    await Promise.resolve();
    expect(events).toEqual([]);
    release();
    await box.idle();
    expect(events).toEqual(['a', 'b']);
    expect(box.isIdle).toBe(true);
  });

  it('continues after a failed frame', async () => {
    const box = inbox();
    box.push('a', () => Promise.reject(new Error('broken')));
    box.push('b', done('b'));
    await box.idle();
    expect(events).toEqual(['a failed: broken', 'b']);
  });

  it('tries again while the database is away, and keeps the order', async () => {
    const box = inbox();
    let attempts = 0;
    box.push('a', () => (++attempts < 3 ? Promise.reject(away()) : done('a')()));
    box.push('b', done('b'));
    await box.idle();
    expect(events).toEqual(['a', 'b']);
  });

  it('does not give up while the connection is open', async () => {
    const box = inbox();
    box.push('a', () => (now < 3_600_000 ? Promise.reject(away()) : done('a')()));
    await box.idle();
    expect(events).toEqual(['a']);
  });

  it('gives up two minutes after the connection was closed, and not before', async () => {
    const box = inbox();
    box.push('a', () => {
      isOpen = now < 600_000;
      return Promise.reject(away());
    });
    await box.idle();
    expect(events).toEqual(['a failed: connect ECONNREFUSED']);
    expect(now).toBeGreaterThan(710_000);
    expect(now).toBeLessThanOrEqual(730_000);
  });

  it('reads no more while too much waits', async () => {
    const box = inbox();
    let release = (): void => undefined;
    box.push('first', () => new Promise<void>((resolve) => (release = resolve)));
    for (let index = 0; index < 200; index += 1) box.push('more', () => Promise.resolve());
    expect(events).toEqual(['hold']);
    await Promise.resolve();
    release();
    await box.idle();
    expect(events).toEqual(['hold', 'resume']);
  });

  it('shares the number of places with all other inboxes', async () => {
    let running = 0;
    let most = 0;
    const boxes = Array.from({ length: 60 }, inbox);
    for (const box of boxes)
      box.push('work', async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      });
    await Promise.all(boxes.map((box) => box.idle()));
    expect(most).toBe(16);
  });
});
