import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupedStatement } from './grouped-statement.js';

/** Statements that end when the test says so. */
function controlled(maxInFlight = 1) {
  const sent: number[][] = [];
  const ends: (() => void)[] = [];
  const statement = new GroupedStatement<number, number>(
    async (items) => {
      sent.push([...items]);
      await new Promise<void>((resolve) => ends.push(resolve));
      return items.map((item) => -item);
    },
    { maxGroup: 8, maxInFlight },
  );
  return { statement, sent, end: () => ends.shift()?.() };
}

async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn();
}

describe('a grouped statement', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is sent at once for an item that nothing overlaps', async () => {
    const { statement, sent, end } = controlled();
    for (const item of [1, 2]) {
      const result = statement.execute(item);
      expect(sent.at(-1)).toEqual([item]);
      end();
      expect(await result).toBe(-item);
      await turn();
    }
  });

  it('has the items that arrived during the one before, up to the limit', async () => {
    const { statement, sent, end } = controlled();
    const results = Array.from({ length: 11 }, (_, index) => statement.execute(index));
    for (let statements = 1; statements <= 3; statements += 1) {
      expect(sent).toHaveLength(statements);
      end();
      await turns(5);
    }
    expect(sent).toEqual([[0], [1, 2, 3, 4, 5, 6, 7, 8], [9, 10]]);
    expect(await Promise.all(results)).toEqual(Array.from({ length: 11 }, (_, index) => -index));
  });

  it('waits for as many items as the one before had, for three turns of the event loop at most', async () => {
    const { statement, sent, end } = controlled();
    const first = [0, 1, 2, 3].map((item) => statement.execute(item));
    end();
    await turns(1);
    expect(sent.at(-1)).toEqual([1, 2, 3]);
    end();
    await Promise.all(first);

    // What clients send after their response arrives within some turns.
    const together = [4, 5, 6].map(async (item, index) => {
      await turns(index);
      return statement.execute(item);
    });
    await turns(3);
    expect(sent.at(-1)).toEqual([4, 5, 6]);
    end();
    await Promise.all(together);
    await turns(1);

    const alone = statement.execute(7);
    await turns(2);
    expect(sent.at(-1)).toEqual([4, 5, 6]);
    await turns(2);
    expect(sent.at(-1)).toEqual([7]);
    end();
    await alone;
    await turns(1);
    void statement.execute(8);
    expect(sent.at(-1)).toEqual([8]);
  });

  it('is sent beside another one up to the number of concurrent statements', async () => {
    const { statement, sent, end } = controlled(2);
    const results = [0, 1, 2, 3].map((item) => statement.execute(item));
    expect(sent).toEqual([[0], [1]]);
    end();
    await turns(1);
    expect(sent.at(-1)).toEqual([2, 3]);
    end();
    end();
    expect(await Promise.all(results)).toEqual([-0, -1, -2, -3]);
  });

  it('does not wait when the shared one has ended long ago', async () => {
    const { statement, sent, end } = controlled();
    const shared = [0, 1, 2].map((item) => statement.execute(item));
    end();
    await turns(1);
    end();
    await Promise.all(shared);
    await turns(1);
    vi.advanceTimersByTime(10);
    void statement.execute(3);
    expect(sent.at(-1)).toEqual([3]);
  });

  it('runs each item alone after an error, until the database is unavailable', async () => {
    const sent: number[][] = [];
    const answers: (Error | null)[] = [
      null,
      ...[new Error('One item is wrong.'), null, new Error('Item 2 is wrong.')],
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    ];
    const statement = new GroupedStatement<number, number>(
      async (items) => {
        sent.push([...items]);
        await turn();
        const answer = answers.shift();
        if (answer !== null) throw answer ?? new Error('No further statement was expected.');
        return items.map((item) => -item);
      },
      { maxGroup: 8, maxInFlight: 1 },
    );
    const results = await Promise.allSettled([0, 1, 2, 3, 4, 5].map((item) => statement.execute(item)));
    expect(sent).toEqual([[0], [1, 2, 3, 4, 5], [1], [2], [3]]);
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).toEqual([
      ...[-0, -1, 'Error: Item 2 is wrong.'],
      ...Array(3).fill('Error: connect ECONNREFUSED'),
    ]);
  });
});
