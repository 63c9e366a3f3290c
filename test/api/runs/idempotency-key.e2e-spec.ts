import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const post = (
  status: number,
  key: string,
  body: unknown,
  token = fixture.member.token,
  headers: Record<string, string> = {},
) => fixture.request(status, 'POST /agent/runs', { token, body, headers: { 'Idempotency-Key': key, ...headers } });

async function runsTitled(title: string): Promise<number> {
  const [row] = await fixture.database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM runs WHERE title = $1',
    [title],
  );
  return row?.count ?? 0;
}

describe('Idempotency-Key', () => {
  it('returns the first run in its current state for the same key and body', async () => {
    const body = { prompt: 'Once.', title: 'once', config: { name: 'a', model_id: 'b' }, metadata: { c: 'd' } };
    const first = await post(200, 'once', body);
    const again = await post(200, 'once', body);
    expect(again.body).toEqual(first.body);
    await fixture.request(200, `POST /agent/runs/${first.body.run_id}/cancel`, { token: fixture.member.token });
    expect((await post(200, 'once', body)).body).toEqual({ ...first.body, state: 'CANCELLED' });
    expect(await runsTitled('once')).toBe(1);
  });

  it('ignores the order of keys and unset fields when it compares bodies', async () => {
    const first = await post(200, 'order', { prompt: 'Order.', metadata: { a: '1', b: '2' } });
    const again = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: '{ "metadata": {"b": "2", "a": "1"},\n "prompt": "Order." }',
      contentType: 'application/json',
      headers: { 'Idempotency-Key': 'order' },
    });
    expect(again.body).toEqual(first.body);
  });

  it('rejects the same key with another body with 422 and creates no run', async () => {
    await post(200, 'reused', { prompt: 'One.' });
    const bodies = [
      { prompt: 'Two.', title: 'reused' },
      { prompt: 'One.', title: 'reused' },
      { prompt: 'One.', metadata: { a: 'b' } },
      { prompt: 'One.', interactive: false },
    ];
    for (const body of bodies) expectProblem(fixture.api, await post(422, 'reused', body), 'idempotency_key_reused');
    expect(await runsTitled('reused')).toBe(0);
  });

  it('is shared by both paths that create runs', async () => {
    const { body } = await post(200, 'shared', { prompt: 'Shared.' });
    const deprecated = await fixture.request(200, 'POST /agent/run', {
      token: fixture.member.token,
      body: { prompt: 'Shared.' },
      headers: { 'Idempotency-Key': 'shared' },
    });
    expect(deprecated.body).toEqual(body);
  });

  it('creates one run for fifty concurrent requests, and returns it to all', async () => {
    const body = { prompt: 'Race.', title: 'race' };
    const answers = await sendConcurrently(fixture.api, 'LOCK TABLE headrace.idempotency_keys IN SHARE MODE', () =>
      Array.from({ length: 50 }, () =>
        requestAnyStatus(fixture.api, 'POST /agent/runs', {
          token: fixture.member.token,
          body,
          headers: { 'Idempotency-Key': 'race' },
        }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map((answer) => answer.body.run_id)).size).toBe(1);
    expect(await runsTitled('race')).toBe(1);
    const [{ events } = { events: 0 }] = await fixture.database.query<{ events: number }>(
      'SELECT count(*)::int AS events FROM run_events WHERE run_id = $1',
      [answers[0]?.body.run_id],
    );
    expect(events).toBe(1);
    expect(fixture.api.log.errors).toEqual([]);
  });

  it('creates one run for fifty concurrent requests with two bodies, and rejects the other body', async () => {
    const answers = await sendConcurrently(fixture.api, 'LOCK TABLE headrace.idempotency_keys IN SHARE MODE', () =>
      Array.from({ length: 50 }, (_, index) =>
        requestAnyStatus(fixture.api, 'POST /agent/runs', {
          token: fixture.member.token,
          body: { prompt: `Body ${index % 2}`, title: 'two bodies' },
          headers: { 'Idempotency-Key': 'two' },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(25).fill(200),
      ...Array<number>(25).fill(422),
    ]);
    expect(new Set(answers.filter(({ status }) => status === 200).map((answer) => answer.body.run_id)).size).toBe(1);
    expect(await runsTitled('two bodies')).toBe(1);
  });

  it('is separate for each principal and each owner of the run', async () => {
    const { identities } = fixture.api;
    const both = await identities.user({ [fixture.team]: 'member', [fixture.otherTeam]: 'member' });
    const bot = await identities.serviceAccount(fixture.team);
    const colleague = await identities.user({ [fixture.team]: 'member' });
    const answers = [
      await post(200, 'mine', { prompt: 'Mine.' }),
      await post(200, 'mine', { prompt: 'Mine.' }, bot.token),
      await post(200, 'mine', { prompt: 'Not yours.' }, colleague.token),
      await post(200, 'mine', { prompt: 'Mine.' }, both.token),
      await post(200, 'mine', { prompt: 'Mine.' }, both.token, { 'X-Headrace-Team-Uid': fixture.team }),
      await post(200, 'mine', { prompt: 'Mine.' }, both.token, { 'X-Headrace-Team-Uid': fixture.otherTeam }),
    ];
    expect(new Set(answers.map((answer) => answer.body.run_id)).size).toBe(answers.length);
  });

  it('is shared by the tokens of a principal', async () => {
    const token = await fixture.api.identities.token(fixture.member);
    const first = await post(200, 'token', { prompt: 'Token.' });
    expect((await post(200, 'token', { prompt: 'Token.' }, token)).body).toEqual(first.body);
  });

  it.each([
    ['empty', ''],
    ['with a space', 'a b'],
    ['not ASCII', 'clé'],
    ['of 256 characters', 'k'.repeat(256)],
    ['sent twice', 'one, two'],
  ])('%s: 400', async (_name, key) => {
    expectProblem(fixture.api, await post(400, key, { prompt: 'Key.' }), 'invalid_request', [
      { pointer: '/headers/Idempotency-Key', detail: 'must have 1 to 255 printable ASCII characters without spaces' },
    ]);
  });

  it('of 255 characters is accepted', async () => {
    await post(200, '~'.repeat(255), { prompt: 'Key.' });
  });

  it('is not used by a rejected request', async () => {
    await post(400, 'refused', { prompt: '' });
    await post(403, 'refused', { prompt: 'x', config: { environment_id: 'A'.repeat(22) } });
    await post(200, 'refused', { prompt: 'x' });
  });
});
