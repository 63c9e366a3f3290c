import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedDelivery, AutomationResult } from '#domain/webhooks';
import {
  type BuiltWebhook,
  DeliveryBuilder,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { type EvaluationProcess, startEvaluation } from './evaluation-process.js';

const MATCH: AutomationResult = { automationUid: 'a'.repeat(22), matched: true, runId: 'run-1', reason: 'no filter' };
const ON_THE_WIRE = { automation_uid: 'a'.repeat(22), matched: true, run_id: 'run-1', reason: 'no filter' };

/** Longer than a process may work on what it has claimed. */
const LEASE_MS = 20_000;

let api: TestApi;
let webhooks: WebhookBuilder;
let log: DeliveryBuilder;
let hook: BuiltWebhook;
let admin: TestPrincipal;
const processes: EvaluationProcess[] = [];

beforeAll(async () => {
  api = await startTestApi();
  webhooks = new WebhookBuilder(api.database, api.settings);
  log = new DeliveryBuilder(api.database);
});
afterAll(() => api.close());
beforeEach(async () => {
  hook = await webhooks.webhook({ name: 'ci' });
  admin = await api.identities.user({ [hook.teamUid]: 'admin' });
});
afterEach(async () => {
  while (processes.length > 0) await processes.pop()?.close();
});

const start = async (act?: Parameters<EvaluationProcess['on']>[0]) => {
  const process = await startEvaluation(api.settings);
  processes.push(process);
  if (act) process.on(act);
  return process;
};
const evaluateAll = async (process: EvaluationProcess): Promise<number> => {
  let all = 0;
  for (let taken = await process.lap(); taken > 0; taken = await process.lap()) all += taken;
  return all;
};
const get = async (id: string) =>
  (
    await api.request(200, `GET /factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`, {
      token: admin.token,
    })
  ).body;

describe('an accepted delivery', () => {
  it('is passed to the registered evaluators with its bytes, and their results are in the log', async () => {
    const seen: AcceptedDelivery[] = [];
    const process = await start((delivery) => {
      seen.push(delivery);
      return Promise.resolve([MATCH]);
    });
    process.on(() => Promise.resolve([{ automationUid: 'b', matched: false, reason: 'a is "\u0000\ud800"' }]));
    const body = ' {"a":1.0,"a":"é"} ';
    const { id } = await log.build(hook.id, { body, identity: 'd-1', headers: { 'x-github-event': 'push' } });
    expect(await get(id)).not.toHaveProperty('automation_results');
    expect(await process.lap()).toBe(1);
    expect(seen).toMatchObject([
      {
        deliveryId: id,
        webhook: { uid: hook.uid, name: 'ci', factoryUid: hook.factoryUid, teamUid: hook.teamUid },
        identity: 'd-1',
        receivedAt: expect.any(Date),
        headers: { 'x-github-event': 'push' },
      },
    ]);
    expect(seen[0]?.body.equals(Buffer.from(body))).toBe(true);
    expect((await get(id)).automation_results).toEqual([
      ON_THE_WIRE,
      { automation_uid: 'b', matched: false, reason: 'a is "\ufffd\ufffd"' },
    ]);
    expect(await process.lap()).toBe(0);
  });

  it('has an empty list of results without an evaluator', async () => {
    const { id } = await log.build(hook.id);
    const rejected = await log.build(hook.id, { outcome: 'U' });
    const duplicate = await log.build(hook.id, { outcome: 'D', duplicateOf: id });
    expect(await evaluateAll(await start())).toBe(1);
    expect((await get(id)).automation_results).toEqual([]);
    for (const other of [rejected, duplicate]) expect(await get(other.id)).not.toHaveProperty('automation_results');
  });

  it('is retried when its results cannot be stored, without delaying others', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await log.build((await webhooks.webhook()).id)).id);
    let isBroken = true;
    const process = await start(({ deliveryId }) => {
      const reason = isBroken && deliveryId === ids[0] ? (1n as unknown as string) : 'yes';
      return Promise.resolve([{ automationUid: 'a', matched: true, reason }]);
    });
    await evaluateAll(process);
    const rows = await api.database.query<{ id: string; attempts: number; is_done: boolean }>(
      'SELECT id, evaluation_attempts AS attempts, evaluated_at IS NOT NULL AS is_done FROM headrace.webhook_deliveries WHERE id = ANY($1)',
      [ids],
    );
    expect(rows.filter(({ is_done: isDone }) => !isDone)).toEqual([{ id: ids[0], attempts: 1, is_done: false }]);
    isBroken = false;
    await api.advanceClock(3000);
    expect(await evaluateAll(process)).toBe(1);
  });

  it('is evaluated once by concurrent processes', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(...(await log.buildMany((await webhooks.webhook()).id, 15)));
    const asked: string[] = [];
    const act = ({ deliveryId }: AcceptedDelivery) => {
      asked.push(deliveryId);
      return Promise.resolve([]);
    };
    const [one, two] = [await start(act), await start(act)];
    const taken = await Promise.all([one, two, one, two].map(evaluateAll));
    expect(taken.reduce((sum, count) => sum + count)).toBe(300);
    expect(asked.sort()).toEqual(ids.sort());
    const [row] = await api.database.query(
      'SELECT count(*)::int AS n FROM webhook_deliveries WHERE id = ANY($1) AND evaluated_at IS NOT NULL AND evaluation_attempts = 1',
      [ids],
    );
    expect(row).toEqual({ n: 300 });
  });

  it.each(['taken', 'evaluated'] as const)(
    'is taken over after its lease when a process dies while it is %s',
    async (step) => {
      const { id } = await log.build(hook.id);
      const dying = await start(() => Promise.resolve([MATCH]));
      dying.dieAt(step);
      await expect(dying.lap()).rejects.toThrow('It died');
      const next = await start(() => Promise.resolve([MATCH]));
      expect(await next.lap()).toBe(0);
      expect(await get(id)).not.toHaveProperty('automation_results');
      await api.advanceClock(LEASE_MS);
      expect(await next.lap()).toBe(1);
      expect((await get(id)).automation_results).toEqual([ON_THE_WIRE]);
      api.log.clear();
    },
  );

  it('has the results of one process when another continues after its lease expired', async () => {
    const { id } = await log.build(hook.id);
    let wake = (): void => undefined;
    const slept = new Promise<void>((resolve) => (wake = resolve));
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const asleep = await start(async () => {
      begin();
      await slept;
      return [{ ...MATCH, reason: 'too late' }];
    });
    const late = asleep.lap();
    await begun;
    await api.advanceClock(LEASE_MS);
    const next = await start(() => Promise.reject(new Error('not now')));
    expect(await next.lap()).toBe(1);
    wake();
    await late;
    expect(await get(id)).not.toHaveProperty('automation_results');
    const [row] = await api.database.query(
      'SELECT evaluation_attempts AS failures, evaluation_losses AS losses FROM webhook_deliveries WHERE id = $1',
      [id],
    );
    expect(row).toEqual({ failures: 1, losses: 1 });
    await api.advanceClock(LEASE_MS);
    expect(await asleep.lap()).toBe(1);
    expect(await get(id)).toHaveProperty('automation_results');
    api.log.clear();
  });

  it('evaluates an interrupted delivery alone, without delaying those of other factories', async () => {
    const ids = await log.buildMany(hook.id, 5);
    const dying = await start();
    dying.dieAt('taken');
    await expect(dying.lap()).rejects.toThrow('It died');
    await api.advanceClock(LEASE_MS);
    const { id: fresh } = await log.build(hook.id);
    const asked: string[] = [];
    const process = await start(({ deliveryId }) => {
      asked.push(deliveryId);
      return Promise.resolve([MATCH]);
    });
    const laps: number[] = [];
    for (let taken = await process.lap(); taken > 0; taken = await process.lap()) laps.push(taken);
    expect(laps).toEqual([1, 1, 1, 1, 1, 1]);
    expect(asked).toEqual([...ids, fresh]);
    expect(api.log.text).toContain('was interrupted 1 times: it is evaluated alone');
    const metrics = await process.metrics();
    expect(metrics).toContain('headrace_webhook_evaluations_total{end="evaluated"} 6');
    expect(metrics).toContain('headrace_webhook_evaluations_total{end="interrupted"} 5');
    api.log.clear();
  });

  it('is evaluated when its webhook was disabled or deleted after the 202', async () => {
    const ids: string[] = [];
    for (const shape of [{ enabled: false }, { isDeleted: true }])
      ids.push((await log.build((await webhooks.webhook(shape)).id)).id);
    const asked: string[] = [];
    const process = await start(({ deliveryId }) => {
      asked.push(deliveryId);
      return Promise.resolve([]);
    });
    await evaluateAll(process);
    expect(asked.sort()).toEqual(ids.sort());
  });

  it('waits for a fair share of the deliveries of another webhook only', async () => {
    const stormy = await log.buildMany(hook.id, 100);
    const calm = await webhooks.webhook();
    const { id } = await log.build(calm.id);
    const asked: string[] = [];
    const process = await start(({ deliveryId }) => {
      asked.push(deliveryId);
      return Promise.resolve([]);
    });
    await process.lap();
    expect(asked).toContain(id);
    expect(asked.length).toBeLessThan(20);
    // And nothing else.
    expect(asked.filter((other) => other !== id).every((other) => stormy.includes(other))).toBe(true);
    expect((await evaluateAll(process)) + asked.length).toBeGreaterThanOrEqual(101);
  });
});

describe('an evaluation that fails', () => {
  it('does not delay other deliveries, and is retried later', async () => {
    const { id: bad } = await log.build(hook.id, { identity: 'bad' });
    const { id: good } = await log.build(hook.id, { identity: 'good' });
    let failures = 0;
    const process = await start(({ identity }) => {
      if (identity === 'bad' && failures === 0) throw new Error(`failure ${(failures += 1)}`);
      return Promise.resolve([MATCH]);
    });
    expect(await evaluateAll(process)).toBe(2);
    expect((await get(good)).automation_results).toEqual([ON_THE_WIRE]);
    expect(await get(bad)).not.toHaveProperty('automation_results');
    await api.advanceClock(3000);
    expect(await evaluateAll(process)).toBe(1);
    expect((await get(bad)).automation_results).toEqual([ON_THE_WIRE]);
    expect(api.log.text).toContain('failure 1');
    api.log.clear();
  });

  it('is abandoned after twenty attempts, with the reason in the delivery log', async () => {
    const { id } = await log.build(hook.id);
    let attempts = 0;
    const process = await start(() => {
      attempts += 1;
      return Promise.reject(new Error('it is broken: s3cret'));
    });
    for (let hour = 0; hour < 25; hour += 1) {
      await process.lap();
      await api.advanceClock(3_600_000);
    }
    expect(attempts).toBe(20);
    expect(await get(id)).toMatchObject({
      automation_results: [],
      evaluation_error: 'The evaluation failed 20 times; see the log of the service.',
    });
    api.log.clear();
  });

  it('does not count when the database is unavailable', async () => {
    const { id } = await log.build(hook.id);
    let attempts = 0;
    const process = await start(() => {
      attempts += 1;
      if (attempts <= 22) return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
      return Promise.resolve([MATCH]);
    });
    for (let round = 0; round < 23; round += 1) {
      await process.lap();
      await api.advanceClock(10_000);
    }
    expect(attempts).toBe(23);
    expect((await get(id)).automation_results).toEqual([ON_THE_WIRE]);
    expect(api.log.errors).toEqual([]);
  });
});

describe('a delivery with many results', () => {
  it('returns a hundred results in lists, matches first, and all when it is read by itself', async () => {
    const results = Array.from({ length: 150 }, (_, index) => ({
      automationUid: String(index),
      matched: index >= 145,
      reason: `reason ${index}`,
    }));
    const process = await start(() => Promise.resolve(results));
    const { id } = await log.build(hook.id);
    await evaluateAll(process);
    const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries`;
    const [listed] = (await api.request(200, `GET ${path}`, { token: admin.token })).body.deliveries;
    expect(listed.automation_results_count).toBe(150);
    expect(listed.automation_results.map((result: { automation_uid: string }) => result.automation_uid)).toEqual([
      ...['145', '146', '147', '148', '149'],
      ...Array.from({ length: 95 }, (_, index) => String(index)),
    ]);
    const whole = await get(id);
    expect(whole.automation_results).toHaveLength(150);
    expect(whole).not.toHaveProperty('automation_results_count');
  });
});
