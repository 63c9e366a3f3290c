import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BuiltWebhook,
  DeliveryBuilder,
  type DeliveryCode,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
} from '#testing';
import { pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

const NO_DELIVERY = '01900000-0000-7000-8000-00000000dead';
const LABELS: readonly (readonly [string, DeliveryCode])[] = [
  ['Accepted', 'A'],
  ['Duplicate', 'D'],
  ['Rejected (auth)', 'U'],
  ['Rejected (invalid JSON)', 'J'],
  ['Rejected (too large)', 'L'],
];

let api: TestApi;
let webhooks: WebhookBuilder;
let log: DeliveryBuilder;
let hook: BuiltWebhook;
let admin: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  webhooks = new WebhookBuilder(api.database, api.settings);
  log = new DeliveryBuilder(api.database);
});
afterAll(() => api.close());
beforeEach(async () => {
  hook = await webhooks.webhook();
  admin = await api.identities.user({ [hook.teamUid]: 'admin' });
});

const pathOf = ({ factoryUid, uid }: BuiltWebhook) => `/factories/${factoryUid}/webhooks/${uid}/deliveries`;
const list = async (query = '', status = 200) =>
  (await api.request(status, `GET ${pathOf(hook)}${query}`, { token: admin.token })).body;
const get = async (id: string, status = 200) =>
  (await api.request(status, `GET ${pathOf(hook)}/${id}`, { token: admin.token })).body;
const idsOf = (page: { deliveries: { delivery_id: string }[] }) => page.deliveries.map((item) => item.delivery_id);

/** All pages. */
async function walk(query: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list(`?${new URLSearchParams({ ...query, ...(cursor && { cursor }) }).toString()}`);
    ids.push(...idsOf(page));
    if (!page.page_info.has_next_page) return ids;
    cursor = page.page_info.next_cursor;
  }
}

describe('listWebhookDeliveries', () => {
  it('returns deliveries of the same time once each across pages, newest first', async () => {
    const ids = await log.buildMany(hook.id, 1050, { receivedAt: new Date('2026-05-01T00:00:00Z') });
    await log.buildMany((await webhooks.webhook()).id, 30);
    ids.reverse();
    expect(await walk({ limit: '500' })).toEqual(ids);
    expect(await walk({ limit: '350' })).toEqual(ids);
    expect(idsOf(await list())).toEqual(ids.slice(0, 20));
    expect(idsOf(await list('?limit=1'))).toEqual(ids.slice(0, 1));
  });

  it('returns no cursor with a page that ends with the last delivery', async () => {
    await log.buildMany(hook.id, 20);
    expect((await list('?limit=20')).page_info).toEqual({ has_next_page: false });
    expect(await list('?outcome=Duplicate')).toEqual({ deliveries: [], page_info: { has_next_page: false } });
  });

  it('filters deliveries by label, and returns handshakes without a filter', async () => {
    const made = new Map<string, string[]>();
    for (let round = 0; round < 6; round += 1) {
      const receivedAt = new Date(Date.UTC(2026, 4, 1) + round * 1000);
      for (const [label, outcome] of LABELS) {
        const [id = ''] = await log.buildMany(hook.id, 1, { outcome, receivedAt, isEvaluated: round % 2 === 0 });
        made.set(label, [id, ...(made.get(label) ?? [])]);
      }
    }
    const { id: handshake } = await log.build(hook.id, { outcome: 'H' });
    for (const [label] of LABELS) expect(await walk({ outcome: label, limit: '4' })).toEqual(made.get(label));
    const all = await list('?limit=500');
    expect(all.deliveries).toHaveLength(31);
    expect(all.deliveries[0]).toMatchObject({ delivery_id: handshake, handshake: true });
    expect(all.deliveries[0]).not.toHaveProperty('outcome');
  });

  it('returns the fields of each kind of delivery', async () => {
    const receivedAt = new Date('2026-05-01T10:00:00.123Z');
    const accepted = await log.build(hook.id, { identity: 'd-1', headers: { 'x-github-event': 'push' }, receivedAt });
    await log.build(hook.id, {
      outcome: 'D',
      identity: 'd-1',
      duplicateOf: accepted.id,
      receivedAt: new Date(receivedAt.getTime() + 1),
    });
    await log.build(hook.id, { outcome: 'U', occurrences: 7, receivedAt: new Date(receivedAt.getTime() + 2) });
    const [rejected, duplicate, first] = (await list()).deliveries;
    expect(first).toEqual({
      delivery_id: accepted.id,
      outcome: 'Accepted',
      identity: 'd-1',
      size_bytes: 7,
      received_at: '2026-05-01T10:00:00.123Z',
      source_ip: '203.0.113.7',
      headers: { 'x-github-event': 'push' },
    });
    expect(duplicate).toMatchObject({ outcome: 'Duplicate', identity: 'd-1', duplicate_of: accepted.id });
    expect(rejected).toMatchObject({ outcome: 'Rejected (auth)', count: 7 });
    expect(Object.keys(rejected)).not.toContain('identity');
  });

  it('rejects cursors of other lists', async () => {
    await log.buildMany(hook.id, 3);
    const { next_cursor: cursor } = (await list('?limit=1')).page_info;
    await list(`?limit=2&cursor=${cursor}`);
    for (const query of [`cursor=x.y`, `cursor=${cursor}x`, `cursor=${cursor}&outcome=Accepted`])
      expect(pointersOf(await list(`?${query}`, 400))).toEqual(['/cursor']);
    const other = await webhooks.webhook({ factoryUid: hook.factoryUid });
    await api.request(400, `GET ${pathOf(other)}?cursor=${cursor}`, { token: admin.token });
  });

  it.each([
    ['limit=0', '/limit'],
    ['limit=501', '/limit'],
    ['outcome=accepted', '/outcome'],
    ['outcome=H', '/outcome'],
    ['cursor=', '/cursor'],
  ])('rejects %s', async (query, pointer) => {
    expect(pointersOf(await list(`?${query}`, 400))).toEqual([pointer]);
  });
});

describe('getWebhookDelivery', () => {
  it.each([
    ['characters of every length', '{"a":"é漢𝄞\\u0000\\ud800","b":"\u007f\u2028"}'],
    ['keys that come twice, and numbers as they were written', ' {"a":1.0,"a":1e2,\r\n\t"b":10000000000000000000001} '],
    ['a scalar', '"x"'],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['as much as may be sent', JSON.stringify('x'.repeat(262_142))],
  ])('returns the payload byte for byte: %s', async (_, body) => {
    const { id } = await log.build(hook.id, { body });
    const found = await get(id);
    expect(Buffer.from(found.payload).equals(Buffer.from(body))).toBe(true);
    expect(found).toMatchObject({ delivery_id: id, outcome: 'Accepted', size_bytes: Buffer.byteLength(body) });
    await get(id.toUpperCase());
  });

  it('returns no payload of a rejected delivery', async () => {
    const { id } = await log.build(hook.id, { outcome: 'J' });
    expect(await get(id)).not.toHaveProperty('payload');
  });

  it('returns 404 for a delivery of another webhook, and an unknown one', async () => {
    const other = await webhooks.webhook({ factoryUid: hook.factoryUid });
    await get((await log.build(other.id)).id, 404);
    await get(NO_DELIVERY, 404);
    await get('nothing', 404);
    await get('%20', 400);
  });
});

describe('callers without access to deliveries', () => {
  it.each(['GET', 'GET one', 'POST'])('%s', async (what) => {
    const { id } = await log.build(hook.id);
    const tail = what === 'GET' ? '' : what === 'GET one' ? `/${id}` : `/${id}/redeliver`;
    const ask = (status: number, path: string, { token }: TestPrincipal) =>
      api.request(status, `${what.split(' ')[0]} ${path}${tail}`, { token });
    for (const role of ['member', 'viewer'] as const)
      await ask(403, pathOf(hook), await api.identities.user({ [hook.teamUid]: role }));
    await ask(403, pathOf(hook), await api.identities.serviceAccount(hook.teamUid));
    const stranger = await api.identities.user({ [await api.identities.team()]: 'owner' });
    const { body: theirs } = await ask(404, pathOf(hook), stranger);
    const { body: nobodys } = await ask(404, pathOf({ ...hook, uid: UNKNOWN_UID }), admin);
    expect(theirs.detail).toBe(nobodys.detail);
    await ask(404, pathOf({ ...hook, factoryUid: (await webhooks.factory()).factoryUid }), admin);
    await ask(404, pathOf(await webhooks.webhook({ factoryUid: hook.factoryUid, isDeleted: true })), admin);
    await ask(400, pathOf({ ...hook, uid: '%20' }), admin);
  });
});
