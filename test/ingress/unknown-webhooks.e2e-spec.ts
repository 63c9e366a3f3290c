import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '#libs/persistence';
import { startTestIngress, type TestIngress } from '#libs/testing';
import { type Answer, bearer, post } from './post.js';

const REQUESTS = process.env.HEADRACE_TEST_LONG === '1' ? 2000 : 600;

let ingress: TestIngress;
beforeAll(async () => {
  ingress = await startTestIngress();
});
afterAll(() => ingress.close());

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0;

describe('unknown, disabled and deleted webhooks', () => {
  it(`answer the same bytes, with as many round trips, in the same time (${REQUESTS} interleaved requests)`, async () => {
    const [disabled, deleted] = [
      await ingress.webhooks.webhook({ enabled: false }),
      await ingress.webhooks.webhook({ isDeleted: true }),
    ];
    const urls = ['/webhooks/w/AbCdEfGhIjKlMnOpQrStUv', disabled.path, deleted.path].map((path) => ingress.url + path);
    const { pool } = ingress.app.get(Database, { strict: false });
    let taken = 0;
    pool.on('acquire', () => (taken += 1));

    const times: number[][] = [[], [], []];
    const trips = [0, 0, 0];
    const answers: Answer[] = [];
    for (let n = 0; n < REQUESTS; n += 1) {
      const which = (n + Math.floor(n / 3)) % 3;
      const before = taken;
      const began = performance.now();
      answers[which] = await post(urls[which] ?? '', { headers: bearer(disabled.secret), body: '{}' });
      times[which]?.push(performance.now() - began);
      trips[which] = (trips[which] ?? 0) + taken - before;
    }
    const bytes = answers.map(({ status, headers, text }) => JSON.stringify([status, { ...headers, date: '' }, text]));
    expect(new Set(bytes).size).toBe(1);
    expect(answers[0]?.status).toBe(404);
    expect(trips).toEqual(times.map(({ length }) => length));
    const medians = times.map(median);
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThanOrEqual(1.1);
  });
});
