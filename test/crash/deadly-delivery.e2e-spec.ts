import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import {
  AutomationBuilder,
  type BuiltWebhook,
  createTestDatabase,
  DeliveryBuilder,
  type TestDatabase,
  WebhookBuilder,
} from '#testing';
import { ended, SECRETS_KEY, startFiringProgram } from './firing-program.js';

const ATTEMPTS = 20;
const QUARTER_MS = 15 * 60_000;

let database: TestDatabase;
let dataDir: string;
let hook: BuiltWebhook;
let log: DeliveryBuilder;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-deadly-'));
  hook = await new WebhookBuilder(database, parseSettings({ SECRETS_KEY })).webhook();
  log = new DeliveryBuilder(database);
  await new AutomationBuilder(database).build({
    ...hook,
    onWebhooks: [{ uid: hook.uid, payload: { action: ['go'] } }],
  });
});
afterAll(async () => {
  await database.close();
  await rm(dataDir, { recursive: true, force: true });
});

const evaluate = () => ended(startFiringProgram({ databaseUrl: database.url, dataDir }, { KILL_ON: 'deadly' }));
const open = async (): Promise<string[]> =>
  (
    await database.query<{ id: string }>(
      'SELECT id FROM headrace.webhook_deliveries WHERE evaluated_at IS NULL ORDER BY id',
    )
  ).map(({ id }) => id);

it(
  'a delivery that ends its evaluator is abandoned, and costs other deliveries at most one attempt',
  { timeout: 300_000 },
  async () => {
    const go = { body: '{"action":"go"}' };
    const neighbours = await log.buildMany(hook.id, 3, go);
    const { id: deadly } = await log.build(hook.id, { ...go, identity: 'deadly' });
    neighbours.push(...(await log.buildMany(hook.id, 3, go)));
    const died = async (): Promise<void> => {
      const { how, output } = await evaluate();
      expect(how, output).toBe('SIGKILL');
    };

    /** It has been evaluated once less often than this: processes take their time to start. Returns the next attempt. */
    const pretend = async (attempt: number): Promise<number> => {
      await database.query('UPDATE headrace.webhook_deliveries SET evaluation_losses = $2 WHERE id = $1', [
        ...[deadly, attempt - 1],
      ]);
      return attempt;
    };

    // All are taken together, and nobody can know which of them it was.
    await died();
    expect(await open()).toHaveLength(7);
    await database.advanceClock(QUARTER_MS);
    await died();
    for (let attempt = 3; attempt <= ATTEMPTS; attempt += 1) {
      if (attempt === 4) attempt = await pretend(ATTEMPTS - 1);
      // What comes meanwhile is evaluated as ever.
      neighbours.push((await log.build(hook.id, go)).id);
      const { how, output } = await evaluate();
      expect(how, output).toBe(0);
      await database.advanceClock(QUARTER_MS);
      await died();
    }
    expect(await open()).toEqual([deadly]);

    await database.advanceClock(QUARTER_MS);
    const { how, output } = await evaluate();
    expect(how, output).toBe(0);
    expect(output).toContain('was interrupted 20 times: it is abandoned');
    const rows = await database.query<{ id: string; losses: number }>(
      `SELECT d.id, d.evaluation_error AS error, d.evaluation_losses AS losses, jsonb_array_length(d.results) AS results,
       (SELECT count(*)::int FROM headrace.runs r WHERE r.metadata->>'delivery_id' = d.id::text) AS runs
       FROM headrace.webhook_deliveries d WHERE d.evaluated_at IS NOT NULL ORDER BY d.id`,
    );
    expect(rows.find(({ id }) => id === deadly)).toMatchObject({
      results: 0,
      error:
        'The evaluation was interrupted 20 times, for example by the end of the process; see the log of the service.',
    });
    const others = rows.filter(({ id }) => id !== deadly);
    expect(others.map(({ id }) => id)).toEqual(neighbours.sort());
    for (const other of others) expect(other).toMatchObject({ error: null, results: 1, runs: 1 });
    expect(Math.max(...others.map(({ losses }) => losses))).toBe(1);
  },
);
