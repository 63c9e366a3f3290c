import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { createTestDatabase, type TestDatabase, WebhookBuilder } from '#testing';
import { freePort, Installation, type Program } from '../support/installation.js';
import { bearer, post } from './post.js';

const SECRETS_KEY = 'a-key-for-tests-only-0123456789abcdef';
const ROUNDS = 20;

let database: TestDatabase;
let installation: Installation;
let ports: number[];
let programs: Program[];

beforeAll(async () => {
  database = await createTestDatabase();
  installation = await Installation.create({ DATABASE_URL: database.url, SECRETS_KEY, WEBHOOK_RATE_LIMIT: '1000' });
  ports = [await freePort(), await freePort()];
  programs = ports.map((port) => installation.start('ingress', { INGRESS_PORT: String(port) }));
  await Promise.all(programs.map((program) => program.says('ingress is ready')));
});
afterAll(async () => {
  for (const program of programs) await program.stopCleanly();
  await database.close();
  installation.remove();
});

it('accepts ten concurrent posts of one identity to two processes as one delivery', async () => {
  const hook = await new WebhookBuilder(database, parseSettings({ SECRETS_KEY })).webhook();
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        post(`http://127.0.0.1:${ports[index % 2]}${hook.path}`, {
          headers: { ...bearer(hook.secret), 'X-Headrace-Delivery-Id': `same-${round}` },
          body: JSON.stringify({ round, index }),
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    const ids = new Set(answers.map(({ json }) => json?.delivery_id as string));
    expect(ids.size).toBe(1);
    for (const id of ids) seen.add(id);
  }
  expect(seen.size).toBe(ROUNDS);
  const labels = await database.query<{ outcome: string; count: number }>(
    `SELECT outcome, count(*)::int AS count FROM headrace.webhook_deliveries WHERE webhook_id = $1 GROUP BY 1 ORDER BY 1`,
    [hook.id],
  );
  expect(labels).toEqual([
    { outcome: 'A', count: ROUNDS },
    { outcome: 'D', count: 9 * ROUNDS },
  ]);
});
