import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BackgroundTasks } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { LocalObjectStore, ObjectDisposal, ObjectStore, ObjectStoreUnavailableError } from '#platform/storage';
import { ObjectDisposalTask } from '../../../libs/platform/storage/src/object-disposal.js';
import { startTestApi, type TestApi } from '#testing';

let api: TestApi;
let store: ObjectStore;
let disposal: ObjectDisposal;
let database: Database;

beforeAll(async () => {
  api = await startTestApi();
  store = api.app.get(ObjectStore);
  disposal = api.app.get(ObjectDisposal);
  database = api.app.get(Database);
});
afterAll(() => api.close());

const put = async (...keys: string[]): Promise<void> => {
  for (const key of keys) await store.put(key, Buffer.from(key), { contentType: 'text/plain' });
};
const present = async (...keys: string[]): Promise<string[]> => {
  const there: string[] = [];
  for (const key of keys) {
    const found = await store.get(key);
    found?.stream.destroy();
    if (found) there.push(key);
  }
  return there;
};
/** Until every link that was handed out before has expired. */
const letLinksExpire = () => api.advanceClock(api.settings.signedUrlTtl + 61_000);

describe('discarded objects', () => {
  it('are deleted after the links to them have expired', async () => {
    await put('a/1', 'a/2');
    const url = await store.signedUrl('a/1', { ttlMs: api.settings.signedUrlTtl });
    await disposal.discard(database, ['a/1']);
    await api.advanceClock(api.settings.signedUrlTtl - 5000);
    expect(await disposal.sweep()).toBe(0);
    expect((await fetch(url)).status).toBe(200);
    await api.advanceClock(70_000);
    expect(await disposal.sweep()).toBe(1);
    expect(await disposal.sweep()).toBe(0);
    expect(await present('a/1', 'a/2')).toEqual(['a/2']);
  });

  it('include everything below a discarded prefix', async () => {
    await put('b/run/1', 'b/run/deep/2', 'b/run2/3', 'b/run');
    await disposal.discardBelow(database, ['b/run']);
    await letLinksExpire();
    expect(await disposal.sweep()).toBe(1);
    expect(await present('b/run/1', 'b/run/deep/2', 'b/run2/3', 'b/run')).toEqual(['b/run2/3', 'b/run']);
  });

  it('are kept when the transaction that discards them does not commit', async () => {
    await put('c/1');
    const failing = database.transaction(async (tx) => {
      await disposal.discard(tx, ['c/1']);
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    await letLinksExpire();
    expect(await disposal.sweep()).toBe(0);
    expect(await present('c/1')).toEqual(['c/1']);
  });

  it('are deleted once by concurrent sweeps, in as many batches as needed', async () => {
    const keys = Array.from({ length: 25 }, (_, index) => `d/${index}`);
    await put(...keys);
    await disposal.discard(database, [...keys, ...keys]);
    await disposal.discard(database, keys);
    await letLinksExpire();
    await Promise.all([disposal.sweep(10), disposal.sweep(10)]);
    while ((await disposal.sweep(10)) > 0);
    expect(await present(...keys)).toEqual([]);
  });

  it('that cannot be deleted do not delay the others, and are retried', async () => {
    await put('e/good', 'e/bad');
    const local = api.app.get(LocalObjectStore);
    const deleted: string[] = [];
    let isBroken = true;
    const moody = Object.assign(Object.create(local) as ObjectStore, {
      delete: async (key: string) => {
        if (isBroken && key === 'e/bad') throw new Error('disk on fire');
        deleted.push(key);
        await local.delete(key);
      },
    });
    const moodyDisposal = new ObjectDisposal(moody, database, api.settings);
    await moodyDisposal.discard(database, ['e/bad', 'e/good']);
    await letLinksExpire();
    expect(await moodyDisposal.sweep()).toBe(2);
    expect(deleted).toEqual(['e/good']);
    isBroken = false;
    expect(await moodyDisposal.sweep()).toBe(0);
    await api.advanceClock(11 * 60_000);
    expect(await moodyDisposal.sweep()).toBe(1);
    expect(await present('e/good', 'e/bad')).toEqual([]);
  });

  it('are kept while the store does not respond', async () => {
    await put('f/1');
    const local = api.app.get(LocalObjectStore);
    const broken = Object.assign(Object.create(local) as ObjectStore, {
      delete: () => Promise.reject(new ObjectStoreUnavailableError(new Error('away'))),
    });
    await disposal.discard(database, ['f/1']);
    await letLinksExpire();
    await expect(new ObjectDisposal(broken, database, api.settings).sweep()).rejects.toThrow(
      ObjectStoreUnavailableError,
    );
    expect(await disposal.sweep()).toBe(1);
    expect(await present('f/1')).toEqual([]);
  });
});

describe('the task that deletes discarded objects', () => {
  class StoppedClock extends Clock {
    time = 0;
    override now = () => new Date(this.time);
  }
  /** Every batch takes this long. */
  function taskWith(batchMs: number): ObjectDisposalTask {
    const clock = new StoppedClock();
    const tasks = { implement: () => undefined } as unknown as BackgroundTasks;
    const slow = new ObjectDisposal(store, database, api.settings);
    const timed = Object.assign(Object.create(slow) as ObjectDisposal, {
      sweep: async (limit: number) => {
        clock.time += batchMs;
        return slow.sweep(limit);
      },
    });
    return new ObjectDisposalTask(timed, clock, tasks);
  }
  const running = new AbortController().signal;
  async function discard(count: number): Promise<void> {
    await disposal.discard(
      database,
      Array.from({ length: count }, (_, index) => `g/${index}`),
    );
    await letLinksExpire();
  }
  const countLeft = async () =>
    (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM discarded_objects'))[0]?.n;

  it('runs until nothing is due', async () => {
    await discard(2300);
    expect(await taskWith(1000).run(running)).toBeUndefined();
    expect(await countLeft()).toBe(0);
  });

  it('leaves the rest to another run after two minutes', async () => {
    await discard(1700);
    const task = taskWith(60_000);
    expect(await task.run(running)).toBe('again');
    expect(await countLeft()).toBe(700);
    expect(await task.run(running)).toBeUndefined();
    expect(await countLeft()).toBe(0);
  });

  it('ends after its batch when the process stops', async () => {
    await discard(1200);
    expect(await taskWith(0).run(AbortSignal.abort())).toBeUndefined();
    expect(await countLeft()).toBe(700);
    while ((await disposal.sweep()) > 0);
  });
});
