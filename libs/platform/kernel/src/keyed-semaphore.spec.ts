import { describe, expect, it } from 'vitest';
import { KeyedSemaphore, type SemaphoreLimits } from './keyed-semaphore.js';

/** Work that ends on request. */
function fixture(limits: SemaphoreLimits) {
  const semaphore = new KeyedSemaphore(limits);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (key: string, name: string): Promise<string | null> =>
    semaphore.run(key, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { run, end, started };
}

describe('KeyedSemaphore', () => {
  it('starts waiting work in its order', async () => {
    const { run, end, started } = fixture({ total: 1 });
    const all = [run('a', '1'), run('a', '2'), run('a', '3')];
    for (const name of ['1', '2', '3']) await end(name);
    expect(await Promise.all(all)).toEqual(['1', '2', '3']);
    expect(started).toEqual(['1', '2', '3']);
  });

  it('leaves permits to other keys when one key has reached its share', async () => {
    const { run, end, started } = fixture({ total: 3, perKey: 2 });
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1'), run('b', 'b2')];
    expect(started).toEqual(['a1', 'a2', 'b1']);
    await end('b1');
    expect(started).toEqual(['a1', 'a2', 'b1', 'b2']);
    await end('a1');
    expect(started.at(-1)).toBe('a3');
    for (const name of ['a2', 'a3', 'b2']) await end(name);
    await Promise.all(all);
  });

  it('returns null to a caller beyond the limit of waiting callers', async () => {
    const { run, end } = fixture({ total: 1, maxWaiting: 1 });
    const [first, second] = [run('a', '1'), run('a', '2')];
    expect(await run('a', '3')).toBeNull();
    await end('1');
    await end('2');
    expect([await first, await second]).toEqual(['1', '2']);
  });

  it('leaves places of the queue to other keys when one key has its share of them', async () => {
    const { run, end, started } = fixture({ total: 2, perKey: 1, maxWaiting: 4 });
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3')];
    expect(await run('a', 'a4')).toBeNull();
    all.push(run('b', 'b1'), run('b', 'b2'), run('c', 'c1'));
    expect(await run('d', 'd1')).toBeNull();
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3', 'c1']) await end(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
    expect(started).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'c1']);
  });

  it('returns null to a caller that has waited too long, and starts the next one', async () => {
    const { run, end } = fixture({ total: 1, maxWaitMs: 5 });
    const first = run('a', '1');
    expect(await run('a', '2')).toBeNull();
    await end('1');
    expect(await first).toBe('1');
    const next = run('a', '3');
    await end('3');
    expect(await next).toBe('3');
  });
});
