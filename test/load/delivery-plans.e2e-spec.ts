import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Database } from '#platform/persistence';
import {
  type BuiltWebhook,
  DeliveryBuilder,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { type EvaluationProcess, startEvaluation } from '../api/webhooks/evaluation-process.js';
import { isLong } from '../support/long-tests.js';

/*
 * What PostgreSQL reads for a page of a delivery log, for a turn of evaluation and for a step of pruning, when there are many
 * deliveries in the way. The statements are the real ones, caught on their way to the database.
 */

const MANY = isLong ? 30_000 : 10_000;
/** Blocks. Each of the tables and indexes has many times as many. */
const FEW = 300;
const DAY = 86_400_000;

let api: TestApi;
let process: EvaluationProcess;
let admin: TestPrincipal;
let noisy: BuiltWebhook;
let busy: BuiltWebhook;

beforeAll(async () => {
  api = await startTestApi();
  process = await startEvaluation(api.settings);
  const webhooks = new WebhookBuilder(api.database, api.settings);
  const { factoryUid, teamUid } = await webhooks.factory();
  admin = await api.identities.user({ [teamUid]: 'admin' });
  noisy = await webhooks.webhook({ factoryUid });
  busy = await webhooks.webhook({ factoryUid });
  const log = new DeliveryBuilder(api.database);
  const at = (days: number) => ({ receivedAt: new Date(Date.now() - days * DAY) });
  await log.buildMany(noisy.id, 60, { ...at(6), isEvaluated: true });
  await log.buildMany(noisy.id, MANY, { ...at(5), outcome: 'U' });
  await log.buildMany(busy.id, 5, { ...at(6), outcome: 'D' });
  await log.buildMany(busy.id, MANY, { ...at(5), isEvaluated: true });
  await log.buildMany(busy.id, MANY, at(4));
  for (let n = 0; n < 20; n += 1) await log.build((await webhooks.webhook({ factoryUid })).id, at(3));
  await api.database.query('VACUUM ANALYZE webhook_deliveries');
}, 120_000);
afterAll(async () => {
  await process.close();
  await api.close();
});

/** Blocks that the statement read which `work` sends and which has this text in it. */
async function blocksOf(database: Database, text: string, work: () => Promise<unknown>): Promise<number> {
  const spy = vi.spyOn(database, 'query');
  await work();
  const sent = spy.mock.calls.find(([statement]) => textOf(statement).includes(text));
  spy.mockRestore();
  if (!sent) throw new Error('No such statement was sent.');
  const [statement, values = []] = sent;
  const [row] = await api.database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${textOf(statement)}`,
    values,
  );
  const plan = row?.['QUERY PLAN'][0].Plan ?? {};
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}
const textOf = (statement: Parameters<Database['query']>[0]) =>
  typeof statement === 'string' ? statement : statement.text;

describe('a page of the delivery log', () => {
  it.each([
    ['noisy', ''],
    ['noisy', 'Accepted'],
    ['noisy', 'Rejected (auth)'],
    ['busy', ''],
    ['busy', 'Accepted'],
    ['busy', 'Duplicate'],
  ] as const)('reads few blocks for a page of the log of a %s webhook (outcome: %s)', async (which, outcome) => {
    const { factoryUid, uid } = which === 'noisy' ? noisy : busy;
    const query = outcome === '' ? '' : `?${new URLSearchParams({ outcome }).toString()}`;
    const line = `GET /factories/${factoryUid}/webhooks/${uid}/deliveries${query}`;
    const ask = () => api.request(200, line, { token: admin.token });
    expect(await blocksOf(api.app.get(Database), 'ORDER BY id DESC', ask)).toBeLessThan(FEW);
  });
});

it('reads few blocks to find the webhooks with waiting deliveries', async () => {
  const walk = () => process.store.webhooksWaiting('0', 256);
  expect(await blocksOf(process.database, 'walk', walk)).toBeLessThan(FEW);
});

it('reads few blocks to select deliveries for evaluation', async () => {
  expect(await blocksOf(process.database, 'unhurried', () => process.lap())).toBeLessThan(FEW);
});

it('reads few blocks for pruning when no delivery is old enough', async () => {
  const prune = () => process.prune.execute(new AbortController().signal);
  expect(await blocksOf(process.database, 'doomed', prune)).toBeLessThan(FEW);
});
