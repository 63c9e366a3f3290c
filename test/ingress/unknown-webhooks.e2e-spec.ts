import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '#platform/persistence';
import { startTestIngress, type TestIngress } from '#testing';
import { type Answer, bearer, post } from './post.js';
import { isLong } from '../support/long-tests.js';

/** Each is one request of every kind, one right after the other. */
const ROUNDS = isLong ? 700 : 200;
/** What a machine with other work puts in evens out in more rounds; a difference of ours stays. */
const MOST_ROUNDS = 10 * ROUNDS;
const LARGEST_RATIO = 1.1;

let ingress: TestIngress;
beforeAll(async () => {
  ingress = await startTestIngress();
});
afterAll(() => ingress.close());

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0;

/** How much longer one kind takes than another of the same round: whatever slows a round down slows all of it. */
function largestRatio(rounds: readonly (readonly number[])[]): number {
  const pairs = [0, 1, 2].flatMap((one) => [0, 1, 2].map((other) => [one, other] as const));
  return Math.max(
    ...pairs.map(([one, other]) => median(rounds.map((times) => (times[one] ?? NaN) / (times[other] ?? NaN)))),
  );
}

describe('unknown, disabled and deleted webhooks', () => {
  it(
    `get the same bytes, with the same number of round trips, in the same time (${ROUNDS} rounds)`,
    { timeout: 300_000 },
    async () => {
      const [disabled, deleted] = [
        await ingress.webhooks.webhook({ enabled: false }),
        await ingress.webhooks.webhook({ isDeleted: true }),
      ];
      const urls = ['/webhooks/w/AbCdEfGhIjKlMnOpQrStUv', disabled.path, deleted.path].map(
        (path) => ingress.url + path,
      );
      const { pool } = ingress.app.get(Database, { strict: false });
      let acquired = 0;
      pool.on('acquire', () => (acquired += 1));
      const roundTrips: number[][] = [[], [], []];

      const rounds: number[][] = [];
      const answers: Answer[] = [];
      do {
        const times = [NaN, NaN, NaN];
        for (let turn = 0; turn < 3; turn += 1) {
          const which = (rounds.length + turn) % 3;
          const before = acquired;
          const began = performance.now();
          answers[which] = await post(urls[which] ?? '', { headers: bearer(disabled.secret), body: '{}' });
          times[which] = performance.now() - began;
          roundTrips[which]?.push(acquired - before);
        }
        rounds.push(times);
      } while (rounds.length % ROUNDS !== 0 || (largestRatio(rounds) > LARGEST_RATIO && rounds.length < MOST_ROUNDS));
      // Medians, because a background task of the process may use a connection during a request.
      expect(roundTrips.map(median)).toEqual([1, 1, 1]);
      const bytes = answers.map(({ status, headers, text }) =>
        JSON.stringify([status, { ...headers, date: '' }, text]),
      );
      expect(new Set(bytes).size).toBe(1);
      expect(answers[0]?.status).toBe(404);
      expect(largestRatio(rounds)).toBeLessThanOrEqual(LARGEST_RATIO);
    },
  );
});
