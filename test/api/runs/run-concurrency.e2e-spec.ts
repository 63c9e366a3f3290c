import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUuid } from '#platform/kernel';
import { ConcurrentRuns } from '../../../libs/domain/runs/src/application/concurrent-runs.js';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

interface Options {
  readonly by?: string;
  readonly status?: number;
  readonly key?: string;
  readonly fields?: object;
}
async function create(concurrency: object, { by, status = 200, key, fields = {} }: Options = {}) {
  const { body } = await fixture.request(status, 'POST /agent/runs', {
    token: by ?? fixture.admin.token,
    body: { prompt: 'Work.', team: true, ...fields, concurrency },
    ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
  });
  return body;
}
const stateOf = async (runId: string) => (await fixture.getRun(runId, fixture.admin)).state;
const followupsOf = (runId: string) =>
  fixture.database.query(
    `SELECT f.message, array_agg(a.file_name) FILTER (WHERE a.id IS NOT NULL) AS files FROM run_followups f
       LEFT JOIN run_attachments a ON a.followup_id = f.id WHERE f.run_id = $1 GROUP BY f.id ORDER BY f.position`,
    [runId],
  );

describe('a run with a concurrency key', () => {
  it('is rejected by the policy skip while another one is active, which the detail names', async () => {
    const concurrency = { key: newUuid(), policy: 'skip' };
    const { run_id: first } = await create(concurrency);
    const problem = await create(concurrency, { status: 409 });
    expect(problem).toMatchObject({ type: expect.stringContaining('conflict'), retryable: true });
    expect(problem.detail).toContain(`The run ${first} with the same concurrency key is active.`);
    await fixture.requestAsAdmin(200, `POST /agent/runs/${first}/cancel`);
    expect((await create(concurrency)).run_id).not.toBe(first);
  });

  it('cancels the other one by the policy supersede', async () => {
    const concurrency = { key: newUuid(), policy: 'supersede' };
    const [first, second] = [await create(concurrency), await create(concurrency)];
    expect([await stateOf(first.run_id), await stateOf(second.run_id)]).toEqual(['CANCELLED', 'QUEUED']);
  });

  it('is a follow-up of the other one by the policy continue, with its attachments', async () => {
    const concurrency = { key: newUuid(), policy: 'continue' };
    const first = await create(concurrency);
    expect(first).not.toHaveProperty('continued');
    const attachments = [{ file_name: 'a.txt', mime_type: 'text/plain', data: 'YQ==' }];
    const second = await create(concurrency, { fields: { prompt: 'And this.', attachments } });
    expect(second).toEqual({ run_id: first.run_id, task_id: first.run_id, state: 'QUEUED', continued: true });
    expect(await followupsOf(first.run_id)).toEqual([{ message: 'And this.', files: ['a.txt'] }]);
    // Cancelled before its agent has started: there is nothing to continue.
    await fixture.requestAsAdmin(200, `POST /agent/runs/${first.run_id}/cancel`);
    expect((await create(concurrency)).run_id).not.toBe(first.run_id);
  });

  it('starts one run for requests with the policy continue that arrive together', async () => {
    const concurrency = { key: newUuid(), policy: 'continue' };
    const runs = await Promise.all(Array.from({ length: 8 }, () => create(concurrency)));
    expect(new Set(runs.map(({ run_id: runId }) => runId)).size).toBe(1);
    expect(await followupsOf(runs[0].run_id)).toHaveLength(7);
  });

  it('sends one follow-up for requests with the same idempotency key, together and one after the other', async () => {
    const concurrency = { key: newUuid(), policy: 'continue' };
    const first = await create(concurrency, { key: newUuid() });
    const key = newUuid();
    const together = await Promise.all(Array.from({ length: 4 }, () => create(concurrency, { key })));
    expect([...together, await create(concurrency, { key })].map(({ run_id: runId }) => runId)).toEqual(
      Array.from({ length: 5 }, () => first.run_id),
    );
    expect(await followupsOf(first.run_id)).toHaveLength(1);
    await create(concurrency, { key, status: 422, fields: { prompt: 'Another.' } });
    expect(await followupsOf(first.run_id)).toHaveLength(1);
  });

  it('stores no files at a run that the caller may not continue', async () => {
    const environment = await fixture.request(201, 'POST /environments', {
      token: fixture.member.token,
      body: { config: { name: 'own' }, team: false },
    });
    const concurrency = { key: newUuid(), policy: 'continue' };
    const config = { environment_id: environment.body.uid };
    const { run_id: runId } = await create(concurrency, { by: fixture.member.token, fields: { config } });
    const attachments = [{ file_name: 'a.txt', mime_type: 'text/plain', data: 'YQ==' }];
    await create(concurrency, { status: 403, fields: { attachments } });
    expect(await fixture.database.query('SELECT 1 FROM run_attachments WHERE run_id = $1', [runId])).toEqual([]);
  });

  it('returns the run of a repeated request, with each policy', async () => {
    for (const policy of ['skip', 'supersede', 'continue', 'queue', 'debounce']) {
      const [concurrency, key] = [{ key: newUuid(), policy }, newUuid()];
      const first = await create(concurrency, { key });
      expect(await create(concurrency, { key }), policy).toMatchObject({ run_id: first.run_id });
      expect(await stateOf(first.run_id)).toBe('QUEUED');
      await create(concurrency, { key, status: 422, fields: { title: 'another' } });
    }
  });

  it.each(['queue', 'debounce'])('waits with the policy %s', async (policy) => {
    const concurrency = { key: newUuid(), policy };
    const first = await create(concurrency);
    const second = await create(concurrency);
    const { state, status_message: status } = await fixture.getRun(second.run_id, fixture.admin);
    expect([state, await stateOf(first.run_id)]).toEqual(
      policy === 'queue' ? ['QUEUED', 'QUEUED'] : ['QUEUED', 'CANCELLED'],
    );
    expect(status.message).toContain(policy === 'queue' ? first.run_id : 'unless a later event replaces it');
    await fixture.api.app.get(ConcurrentRuns).releaseHeld(new AbortController().signal);
    expect((await fixture.getRun(second.run_id, fixture.admin)).status_message.message).toBe(status.message);
  });

  it('shares its key neither with other owners nor with other keys', async () => {
    const concurrency = { key: newUuid(), policy: 'skip' };
    await create(concurrency);
    await create({ ...concurrency, key: newUuid() });
    await create(concurrency, { fields: { team: false } });
    await create(concurrency, { fields: { team: false }, by: fixture.member.token });
  });
});

describe('the field concurrency', () => {
  it.each([
    [{ key: ' ', policy: 'skip' }, '/concurrency/key'],
    [{ policy: 'skip' }, '/concurrency/key'],
    [{ key: 'x'.repeat(501), policy: 'skip' }, '/concurrency/key'],
    [{ key: 'a', policy: 'allow' }, '/concurrency/policy'],
    [{ key: 'a' }, '/concurrency/policy'],
    [{ key: 'a', policy: 'queue', delay_seconds: 5 }, '/concurrency/delay_seconds'],
    [{ key: 'a', policy: 'debounce', delay_seconds: 1.5 }, '/concurrency/delay_seconds'],
  ])('%j is rejected', async (concurrency, pointer) => {
    const { errors } = await create(concurrency, { status: 400 });
    expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it('is rejected for external runs', async () => {
    const body = { prompt: 'Work.', concurrency: { key: 'a', policy: 'skip' } };
    const { errors } = await fixture.requestAsAdmin(400, 'POST /agent/runs/external', body);
    expect(errors).toEqual([{ pointer: '/concurrency', detail: expect.any(String) }]);
  });
});
