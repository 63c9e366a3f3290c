import { expect, it } from 'vitest';
import { createDatabaseProxy, createTestDatabase } from '#testing';
import { Installation, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

/** Equal lines are counted for ten seconds each. */
const PERIODS = isLong ? 3 : 1;

it(
  'writes less than 50 lines during an outage of the database, however many runs are at work',
  { timeout: 120_000 },
  async () => {
    const database = await createTestDatabase();
    const proxy = await createDatabaseProxy(database.url);
    const installation = await Installation.create({
      DATABASE_URL: proxy.url,
      LEASE_TTL: '60s',
      MAX_CONCURRENT_RUNS: '4',
      MAX_CONCURRENT_RUNS_PER_TEAM: '4',
    });
    const server = await installation.up();
    try {
      const runs = await Promise.all([1, 2, 3, 4].map(() => installation.createRun('```sh\nsleep 600\n```')));
      for (const run of runs) await installation.waitFor(run, ['INPROGRESS']);
      const before = server.text.length;
      await proxy.cut();
      const lines = () => server.text.slice(before).split('\n').slice(0, -1);
      const counted = () =>
        lines().filter((line) => line.includes('The database is unavailable') && line.includes('"repeated"'));
      await until(() => counted().length >= PERIODS, 60_000, 'the counts of equal lines');
      const written = lines();
      expect(written.length, written.join('\n')).toBeLessThan(PERIODS === 3 ? 50 : 30);
      // What the runners have tried again and again.
      expect(written.some((line) => line.includes('"msg":"request"') && line.includes('"status":503'))).toBe(true);
      await proxy.restore();
    } finally {
      await server.stop('SIGKILL');
      await proxy.close();
      await database.close();
      installation.remove();
    }
  },
);
