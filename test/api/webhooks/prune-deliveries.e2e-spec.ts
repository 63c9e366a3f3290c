import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BuiltWebhook,
  DeliveryBuilder,
  type DeliveryShape,
  startTestApi,
  type TestApi,
  WebhookBuilder,
} from '#testing';
import { type EvaluationProcess, startEvaluation } from './evaluation-process.js';

const SECOND = 1000;
const DAY = 86_400_000;
const DONE: DeliveryShape = { isEvaluated: true };

let api: TestApi;
let process: EvaluationProcess;
let webhooks: WebhookBuilder;
let log: DeliveryBuilder;
let hook: BuiltWebhook;
let now: number;

beforeAll(async () => {
  api = await startTestApi();
  process = await startEvaluation(api.settings);
  webhooks = new WebhookBuilder(api.database, api.settings);
  log = new DeliveryBuilder(api.database);
});
afterAll(async () => {
  await process.close();
  await api.close();
});
beforeEach(async () => {
  hook = await webhooks.webhook();
  now = await sqlNow();
});

const sqlNow = async () => {
  const [row] = await api.database.query<{ now: Date }>('SELECT headrace.now() AS now');
  return row?.now.getTime() ?? 0;
};
const prune = () => process.prune.execute(new AbortController().signal);
const ago = (milliseconds: number, shape: DeliveryShape = DONE) => ({
  ...shape,
  receivedAt: new Date(now - milliseconds),
});
const left = async (webhookId = hook.id) =>
  (
    await api.database.query<{ id: string }>('SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id', [
      webhookId,
    ])
  ).map(({ id }) => id);

describe('the delivery log', () => {
  it('keeps everything of the last seven days, and the latest fifty of a webhook', async () => {
    const old = await log.buildMany(hook.id, 20, ago(7 * DAY + 10 * SECOND));
    const young = await log.buildMany(hook.id, 70, ago(7 * DAY - 10 * SECOND));
    const few = await webhooks.webhook();
    const fiftyOne = await log.buildMany(few.id, 51, ago(300 * DAY));
    const { deliveries } = await prune();
    expect(await left()).toEqual(young);
    expect(await left(few.id)).toEqual(fiftyOne.slice(1));
    expect(deliveries).toBe(old.length + 1);
    expect((await prune()).deliveries).toBe(0);
  });

  it('deletes a delivery when it is seven days old', async () => {
    const old = await log.buildMany(hook.id, 3, ago(0));
    const kept = await log.buildMany(hook.id, 50, ago(-SECOND));
    await api.advanceClock(7 * DAY - 30 * SECOND);
    await prune();
    expect(await left()).toEqual([...old, ...kept]);
    await api.advanceClock(30 * SECOND);
    await prune();
    expect(await left()).toEqual(kept);
  });

  it('keeps the latest fifty accepted deliveries beside any number of rejections', async () => {
    const accepted = await log.buildMany(hook.id, 60, ago(30 * DAY));
    const rejected = await log.buildMany(hook.id, 60, ago(20 * DAY, { outcome: 'U' }));
    await prune();
    expect(await left()).toEqual([...accepted.slice(10), ...rejected.slice(10)]);
  });

  it('keeps deliveries that are not evaluated', async () => {
    const waiting = await log.buildMany(hook.id, 3, ago(30 * DAY, {}));
    const evaluated = await log.buildMany(hook.id, 60, ago(20 * DAY));
    await prune();
    expect(await left()).toEqual([...waiting, ...evaluated.slice(10)]);
  });

  it('is pruned in batches, for many webhooks and for one with many deliveries', async () => {
    const { factoryUid } = hook;
    const many = [];
    for (let n = 0; n < 210; n += 1) many.push(await webhooks.webhook({ factoryUid }));
    for (const { id } of many) await log.buildMany(id, 52, ago(10 * DAY));
    await log.buildMany(hook.id, 2500, ago(10 * DAY));
    expect((await prune()).deliveries).toBe(2450 + 2 * 210);
    expect(await left()).toHaveLength(50);
    expect(await left(many.at(-1)?.id)).toHaveLength(50);
  });

  it('is not changed by a round that is stopped', async () => {
    await log.buildMany(hook.id, 60, ago(10 * DAY));
    await process.prune.execute(AbortSignal.abort());
    expect(await left()).toHaveLength(60);
    await prune();
  });
});

describe('identities', () => {
  it('are kept for thirty days', async () => {
    const insert = (key: string, age: number) =>
      api.database.query(
        `INSERT INTO webhook_identities (webhook_id, key, delivery_id, accepted_at)
         SELECT $1, sha256(($2 || n)::bytea), gen_random_uuid(), $3 FROM generate_series(1, 1200) n`,
        [hook.id, key, new Date(now - age)],
      );
    await insert('old', 30 * DAY + SECOND);
    await insert('young', 30 * DAY - 10 * SECOND);
    expect((await prune()).identities).toBe(1200);
    expect((await prune()).identities).toBe(0);
    await api.advanceClock(10 * SECOND);
    expect((await prune()).identities).toBe(1200);
  });
});

describe('a deleted webhook', () => {
  it('is removed with its rows when its log is seven days old and everything is evaluated', async () => {
    const gone = await webhooks.webhook({ isDeleted: true });
    await log.buildMany(gone.id, 3, ago(6 * DAY));
    const [waiting] = await log.buildMany(gone.id, 1, ago(6 * DAY, {}));
    await api.database.query(`INSERT INTO webhook_identities VALUES ($1, '\\x00', gen_random_uuid(), headrace.now())`, [
      gone.id,
    ]);
    const rows = async () =>
      (
        await api.database.query<{ n: number }>(
          `SELECT (SELECT count(*) FROM webhooks WHERE id = $1)::int + (SELECT count(*) FROM webhook_rates WHERE webhook_id = $1)::int
             + (SELECT count(*) FROM webhook_identities WHERE webhook_id = $1)::int AS n`,
          [gone.id],
        )
      )[0]?.n;
    await prune();
    expect(await left(gone.id)).toHaveLength(4);
    await api.advanceClock(2 * DAY);
    await prune();
    expect(await left(gone.id)).toEqual([waiting]);
    await process.lap();
    await prune();
    expect([await left(gone.id), await rows()]).toEqual([[], 3]);
    await api.advanceClock(6 * DAY);
    expect(await prune()).toMatchObject({ webhooks: 1 });
    expect(await rows()).toBe(0);
    await log.build(hook.id);
    await prune();
    expect(await left()).toHaveLength(1);
  });
});
