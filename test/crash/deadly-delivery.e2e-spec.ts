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
import { isLong } from '../support/long-tests.js';

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

it.runIf(isLong)(
  'abandons a delivery whose evaluation kills the process 20 times, and interrupts other deliveries at most once',
  { timeout: 300_000 },
  async () => {
    const go = { body: '{"action":"go"}' };
    const otherIds = await log.buildMany(hook.id, 3, go);
    const { id: deadly } = await log.build(hook.id, { ...go, identity: 'deadly' });
    otherIds.push(...(await log.buildMany(hook.id, 3, go)));
    const expectKilled = async (): Promise<void> => {
      const { how, output } = await evaluate();
      expect(how, output).toBe('SIGKILL');
    };

    /** Sets the number of earlier attempts, because a process for each attempt would take too long. Returns the next attempt. */
    const skipTo = async (attempt: number): Promise<number> => {
      await database.query('UPDATE headrace.webhook_deliveries SET evaluation_losses = $2 WHERE id = $1', [
        ...[deadly, attempt - 1],
      ]);
      return attempt;
    };

    // All deliveries are evaluated together, so the cause of the interruption is unknown.
    await expectKilled();
    expect(await open()).toHaveLength(7);
    await database.advanceClock(QUARTER_MS);
    await expectKilled();
    for (let attempt = 3; attempt <= ATTEMPTS; attempt += 1) {
      if (attempt === 4) attempt = await skipTo(ATTEMPTS - 1);
      // New deliveries are evaluated as usual.
      otherIds.push((await log.build(hook.id, go)).id);
      const { how, output } = await evaluate();
      expect(how, output).toBe(0);
      await database.advanceClock(QUARTER_MS);
      await expectKilled();
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
    expect(others.map(({ id }) => id)).toEqual(otherIds.sort());
    for (const other of others) expect(other).toMatchObject({ error: null, results: 1, runs: 1 });
    expect(Math.max(...others.map(({ losses }) => losses))).toBe(1);
  },
);
