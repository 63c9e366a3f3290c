import { beforeEach, describe, expect, it } from 'vitest';
import { RunnerStartLimiter } from './runner-start-limiter.js';

const DEADLINE = 15_000;

let now = 0;
let offered: Set<string>;
let extended: string[][];
let warnings: string[];
let runners: RunnerStartLimiter;

const start = (...ids: string[]): void => {
  for (const id of ids) {
    offered.add(id);
    runners.started(id);
  }
};
const after = async (milliseconds: number): Promise<void> => {
  now += milliseconds;
  await runners.extendOffers();
};

beforeEach(() => {
  [now, offered, extended, warnings] = [0, new Set(), [], []];
  const ignore = (): void => undefined;
  runners = new RunnerStartLimiter({
    extendOffers: (ids) => {
      extended.push([...ids]);
      return Promise.resolve(new Set(ids.filter((id) => offered.has(id))));
    },
    claimDeadlineMs: DEADLINE,
    slots: 8,
    log: { debug: ignore, info: ignore, error: ignore, warn: (message) => warnings.push(String(message)) },
    now: () => now,
  });
});

describe('offers of runners that start', () => {
  it('are extended until they are claimed or the runner has gone', async () => {
    start('1', '2', '3');
    await after(5000);
    offered.delete('1');
    await after(5000);
    runners.gone('2');
    await after(5000);
    expect(extended).toEqual([['1', '2', '3'], ['1', '2', '3'], ['3']]);
  });

  it('are extended for five minutes, then the runner counts as hanging', async () => {
    start('1');
    for (let minute = 0; minute < 4; minute += 1) await after(60_000);
    expect(extended).toHaveLength(4);
    await after(60_000);
    expect(extended).toHaveLength(4);
  });

  it('are extended before there is a runner, and end the start when they have lapsed', async () => {
    const lapsed: string[] = [];
    for (const id of ['1', '2']) runners.accept(id, () => lapsed.push(id));
    offered.add('1');
    await after(5000);
    start('1');
    await after(5000);
    expect(extended).toEqual([
      ['1', '2'],
      ['2', '1'],
    ]);
    expect(lapsed).toEqual(['2', '2']);
    runners.gone('2');
    await after(5000);
    expect(extended.at(-1)).toEqual(['1']);
  });

  it('do not end a start whose execution has begun: the runner may have claimed it', async () => {
    const lapsed: string[] = [];
    runners.accept('1', () => lapsed.push('1'));
    runners.begun('1');
    await after(5000);
    expect([extended, lapsed]).toEqual([[['1']], []]);
  });

  it('cost no round trip while no runner starts', async () => {
    await after(5000);
    expect(await runners.capacity()).toBe(Number.POSITIVE_INFINITY);
    expect(extended).toEqual([]);
  });
});

describe('how many runners may start at the same time', () => {
  it('is unlimited while they claim in time', async () => {
    start('1', '2', '3', '4', '5', '6', '7', '8');
    await after(DEADLINE);
    expect(await runners.capacity()).toBe(Number.POSITIVE_INFINITY);
    expect(warnings).toEqual([]);
  });

  it('is halved when they are late, down to one', async () => {
    start('1', '2', '3', '4', '5', '6', '7', '8');
    await after(DEADLINE + 1);
    expect(await runners.capacity()).toBe(0);
    expect(warnings).toEqual([expect.stringContaining('at most 4')]);
    for (const id of ['1', '2', '3', '4', '5', '6', '7']) offered.delete(id);
    expect(await runners.capacity()).toBe(3);
    start('9', '10', '11');
    await after(DEADLINE + 1);
    expect(warnings.at(-1)).toContain('at most 2');
    for (const id of ['8', '9', '10']) offered.delete(id);
    expect(await runners.capacity()).toBe(1);
  });

  it('does not fall again for a runner that was counted as late before', async () => {
    start('1', '2', '3', '4');
    await after(DEADLINE + 1);
    await after(DEADLINE + 1);
    expect(warnings).toHaveLength(1);
  });

  it('grows with every runner that claims in time, until there is no limit', async () => {
    start('1', '2');
    await after(DEADLINE + 1);
    offered.clear();
    expect(await runners.capacity()).toBe(1);
    for (let id = 10; id < 17; id += 1) {
      start(String(id));
      offered.clear();
      await after(1000);
    }
    expect(await runners.capacity()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a start that is in time', () => {
  it('counts once, also when the database is asked about it twice at the same time', async () => {
    start('1', '2', '3', '4', '5', '6', '7', '8');
    await after(DEADLINE + 1000);
    expect(warnings).toHaveLength(1);
    for (const id of ['1', '2', '3', '4', '5', '6', '7', '8']) runners.gone(id);
    start('9');
    offered.delete('9');
    await Promise.all([runners.extendOffers(), runners.extendOffers()]);
    expect(await runners.capacity()).toBe(5);
  });
});
