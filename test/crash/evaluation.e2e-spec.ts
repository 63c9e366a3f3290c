import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { AutomationBuilder } from '../../libs/testing/src/automation-builder.js';
import { createTestDatabase, type TestDatabase } from '../../libs/testing/src/database/test-database.js';
import { DeliveryBuilder } from '../../libs/testing/src/delivery-builder.js';
import { type BuiltWebhook, WebhookBuilder } from '../../libs/testing/src/webhook-builder.js';
import { ended, SECRETS_KEY, startFiringProgram } from './firing-program.js';
import { isLong } from '../support/long-tests.js';

/** The steps of `firing-app.mjs` in their order. */
const EVALUATION_STEPS = ['taken', 'evaluated', 'recorded'];
const FIRING_STEPS = [
  ...['before_reading', 'triggers_read', 'filters_evaluated', 'automations_loaded'],
  ...['before_launch', 'launched', 'all_launched'],
];

/** The only process that evaluates is killed at every named step and at random times. */
describe('evaluation of deliveries by killed processes', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let dataDir: string;
  let hook: BuiltWebhook;
  let matching: string[];
  let other: string;
  let log: DeliveryBuilder;
  const deliveries: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-firing-'));
    const webhooks = new WebhookBuilder(database, parseSettings({ SECRETS_KEY }));
    hook = await webhooks.webhook();
    log = new DeliveryBuilder(database);
    const automations = new AutomationBuilder(database);
    const wanted = { uid: hook.uid, payload: { action: ['go'] } };
    const built = await automations.buildMany(3, () => ({ ...hook, onWebhooks: [wanted] }));
    matching = built.map(({ uid }) => uid);
    const unwanted = { uid: hook.uid, payload: { action: ['stay'] } };
    other = (await automations.build({ ...hook, onWebhooks: [unwanted] })).uid;
  });
  afterAll(async () => {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const start = (killAt?: string) =>
    startFiringProgram({ databaseUrl: database.url, dataDir }, killAt === undefined ? {} : { KILL_AT: killAt });
  const deliver = async (count: number): Promise<void> => {
    deliveries.push(...(await log.buildMany(hook.id, count, { body: '{"action":"go"}' })));
  };

  const steps = [...EVALUATION_STEPS.map((step) => `${step}:1`), ...FIRING_STEPS.map((step) => `${step}:1`)];
  // At these steps, runs of the same delivery or of another one have been started already.
  const later = ['before_launch:2', 'launched:2', 'launched:5', 'evaluated:2'];
  it.each(isLong ? [...steps, ...later] : steps)('interrupts the evaluation with SIGKILL at %s', async (killAt) => {
    await deliver(3);
    const { how, output } = await ended(start(killAt));
    expect(how, output).toBe('SIGKILL');
  });

  it('interrupts the evaluation with SIGKILL at random times', async () => {
    for (let round = 0; round < (isLong ? 40 : 1); round += 1) {
      await deliver(6);
      const child = start();
      const end = ended(child);
      await new Promise<void>((resolve) => child.stdout?.once('data', () => setTimeout(resolve, Math.random() * 120)));
      child.kill('SIGKILL');
      await end;
    }
  });

  it('starts every run once and records every result after all interruptions', async () => {
    // After this time every interrupted attempt has expired, and every delivery is due again.
    await database.advanceClock(3_600_000);
    const { how, output } = await ended(start());
    expect(how, output).toBe(0);
    expect(output).toContain('everything is evaluated');
    const rows = await database.query<{ id: string; results: { u: string; r?: string }[] }>(
      `SELECT id, results FROM headrace.webhook_deliveries WHERE evaluated_at IS NOT NULL AND evaluation_error IS NULL`,
    );
    expect(rows.map(({ id }) => id).sort()).toEqual([...deliveries].sort());
    const runs = await database.query<{ id: string; automation: string; delivery: string; files: number }>(
      `SELECT r.id, r.metadata->>'automation_id' AS automation, r.metadata->>'delivery_id' AS delivery,
              (SELECT count(*)::int FROM headrace.run_attachments a WHERE a.run_id = r.id) AS files FROM headrace.runs r`,
    );
    const wanted = deliveries.flatMap((delivery) => matching.map((automation) => `${delivery} ${automation} 1`)).sort();
    expect(runs.map(({ delivery, automation, files }) => `${delivery} ${automation} ${files}`).sort()).toEqual(wanted);
    const runOf = new Map(runs.map(({ id, delivery, automation }) => [`${delivery} ${automation}`, id]));
    for (const { id, results } of rows) {
      const byAutomation = JSON.stringify(results);
      expect(byAutomation).toContain(other);
      for (const automation of matching) expect(byAutomation).toContain(runOf.get(`${id} ${automation}`));
    }
    await expectFiles(runs.map(({ id }) => id));
  });

  /** Every run has its file, and the files of interrupted launches are recorded for deletion. */
  async function expectFiles(runIds: readonly string[]): Promise<void> {
    const folders = await readdir(join(dataDir, 'objects', 'attachments'));
    expect(folders).toEqual(expect.arrayContaining([...runIds]));
    const noted = await database.query<{ key: string }>('SELECT * FROM headrace.discarded_objects');
    const strays = folders.filter((folder) => !runIds.includes(folder));
    for (const stray of strays) expect(JSON.stringify(noted)).toContain(stray);
    for (const runId of runIds) expect(JSON.stringify(noted)).not.toContain(runId);
  }
});
