import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offerSkills } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

let fixture: ApiFixture;
let factory: string;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { publicUrl: 'https://headrace.example.com' } });
  factory = await fixture.createFactory();
});
afterAll(() => fixture.close());

interface Asked {
  readonly of?: string;
  readonly by?: { readonly token: string };
  readonly headers?: Record<string, string>;
}
const dispatch = async (body: object, { of = factory, by = fixture.member, headers = {} }: Asked = {}, status = 200) =>
  (await fixture.request(status, `POST /factory/${of}/runs`, { token: by.token, body, headers })).body;
const runOf = async (id: string) =>
  (await fixture.request(200, `GET /agent/runs/${id}`, { token: fixture.viewer.token })).body;

describe('dispatchFactoryRun', () => {
  it('starts a run of the team with the foreman, labelled with its ticket', async () => {
    const of = await fixture.createFactory();
    const foreman = await fixture.createForeman(of, { prompt: 'You lead.', base_model: 'some-model' });
    const ticket_url = 'https://linear.example.com/ENG-42?a=b';
    const body = { prompt: 'Fix it.', title: 'Broken build', ticket_ref: 'linear:ENG:42', ticket_url };
    const answer = await dispatch(body, { of });
    const { run_id: id } = answer;
    expect(answer).toEqual({
      factory_uid: of,
      foreman_agent: 'foreman',
      run_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      state: 'QUEUED',
      ticket_ref: 'linear:ENG:42',
      run_url: `https://headrace.example.com/runs/${id}`,
    });
    expect(await runOf(id)).toMatchObject({
      prompt: 'Fix it.',
      title: 'Broken build',
      source: 'API',
      scope: { type: 'Team', uid: fixture.team },
      creator: { type: 'user', uid: fixture.member.uid },
      executor: { type: 'service_account', uid: foreman },
      agent_config: { base_prompt: 'You lead.', model_id: 'some-model' },
      metadata: { factory_uid: of, ticket_source: 'linear', ticket_id: 'ENG:42', ticket_url },
    });
  });

  it('uses the defaults of the factory without a foreman, and returns them', async () => {
    const { foreman_agent, run_id } = await dispatch({ prompt: 'Go.' });
    expect(foreman_agent).toBe('oz');
    expect(await runOf(run_id)).toMatchObject({ executor: { uid: fixture.member.uid } });
    const of = await fixture.createFactory();
    await fixture.factories.setAgentDefaults(
      of,
      { model: 'a-model', workerHost: 'build-1', harness: 'claude' },
      fixture.admin.uid,
    );
    const answer = await dispatch({ prompt: 'Go.' }, { of });
    expect(answer.foreman_agent).toBe('claude');
    expect(await runOf(answer.run_id)).toMatchObject({
      agent_config: { model_id: 'a-model', worker_host: 'build-1', harness: { type: 'claude' } },
    });
  });

  it('generates a reference without a ticket', async () => {
    const [one, other] = [await dispatch({ prompt: 'Go.' }), await dispatch({ prompt: 'Go.' })];
    expect(one.ticket_ref).toMatch(/^adhoc:[A-Za-z0-9]{22}$/);
    expect(other.ticket_ref).not.toBe(one.ticket_ref);
    const { metadata } = await runOf(one.run_id);
    expect(metadata).toEqual({
      factory_uid: factory,
      ticket_source: 'adhoc',
      ticket_id: one.ticket_ref.slice('adhoc:'.length),
    });
  });

  it('accepts references and URLs of the maximum length, and finds the run by them', async () => {
    const ticket_ref = `s:${'x'.repeat(254)}`;
    const ticket_url = `https://example.com/${'y'.repeat(2028)}`;
    const { run_id } = await dispatch({ prompt: 'Go.', ticket_ref, ticket_url });
    expect((await runOf(run_id)).metadata).toMatchObject({ ticket_id: 'x'.repeat(254), ticket_url });
    const query = new URLSearchParams({ 'metadata[ticket_id]': 'x'.repeat(254) });
    const { body } = await fixture.request(200, `GET /agent/runs?${query.toString()}`, { token: fixture.member.token });
    expect(body.runs.map((run: { run_id: string }) => run.run_id)).toEqual([run_id]);
  });

  it('returns the same run and reference for a repeated Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await dispatch({ prompt: 'Go.' }, { headers });
    expect(await dispatch({ prompt: 'Go.' }, { headers })).toEqual(first);
    expect((await runOf(first.run_id)).metadata.ticket_id).toBe(first.ticket_ref.slice('adhoc:'.length));
    const reused = await dispatch({ prompt: 'Stop.' }, { headers }, 422);
    expect(reused.error_code).toBe('idempotency_key_reused');
    // The same for another factory is another request.
    await dispatch({ prompt: 'Go.' }, { headers, of: await fixture.createFactory() }, 422);
    await dispatch({ prompt: 'Go.' }, { headers: { 'Idempotency-Key': 'two words' } }, 400);
  });

  it('returns the same response after the foreman was deleted', async () => {
    const of = await fixture.createFactory();
    const foreman = await fixture.createForeman(of);
    const headers = { 'Idempotency-Key': 'gone' };
    const first = await dispatch({ prompt: 'Go.' }, { of, headers });
    await fixture.request(204, `DELETE /agent/identities/${foreman}`, { token: fixture.admin.token });
    expect(await dispatch({ prompt: 'Go.' }, { of, headers })).toEqual(first);
    expect(await dispatch({ prompt: 'Go.' }, { of }, 422)).toMatchObject({
      error_code: 'operation_not_supported',
      detail: expect.stringContaining('apply the factory’s definition again'),
    });
  });

  it('rejects an unavailable foreman and invalid defaults with 422', async () => {
    const of = await fixture.createFactory();
    await fixture.createForeman(of, { available: false });
    expect((await dispatch({ prompt: 'Go.' }, { of }, 422)).detail).toContain('not available');
    const other = await fixture.createFactory();
    await fixture.factories.setAgentDefaults(other, { environmentId: UNKNOWN_UID }, fixture.admin.uid);
    expect((await dispatch({ prompt: 'Go.' }, { of: other }, 422)).detail).toContain('environment_id');
  });

  it('passes the prompt to the foreman’s skill; 422 for a missing skill, 503 while it cannot be resolved', async () => {
    offerSkills(fixture.api.app, {
      gone: { kind: 'missing', candidates: [] },
      slow: { kind: 'unreadable', detail: 'It does not answer.', retryable: true },
    });
    const [of, gone, slow] = [
      await fixture.createFactory(),
      await fixture.createFactory(),
      await fixture.createFactory(),
    ];
    await fixture.createForeman(of, { skills: ['plan'] });
    await fixture.createForeman(gone, { skills: ['gone'] });
    await fixture.createForeman(slow, { skills: ['slow'] });
    const { run_id } = await dispatch({ prompt: 'Go.' }, { of });
    expect(await runOf(run_id)).toMatchObject({
      agent_skill: { name: 'plan' },
      agent_config: { base_prompt: expect.stringMatching(/How to plan\.$/) },
    });
    expect(await dispatch({ prompt: 'Go.' }, { of: gone }, 422)).toMatchObject({
      error_code: 'operation_not_supported',
      detail: expect.stringContaining('refers to the skill gone, which names no skill'),
    });
    expect(await dispatch({ prompt: 'Go.' }, { of: slow }, 503)).toMatchObject({
      error_code: 'resource_unavailable',
      retryable: true,
    });
  });

  it.each<[object, string]>([
    [{ prompt: ' ' }, '/prompt'],
    [{ title: 'No prompt.' }, '/prompt'],
    [{ prompt: 'x', title: ' ' }, '/title'],
    [{ prompt: 'x', title: 'x'.repeat(513) }, '/title'],
    [{ prompt: 'x', ticket_ref: 'ENG-42' }, '/ticket_ref'],
    [{ prompt: 'x', ticket_ref: 'linear:' }, '/ticket_ref'],
    [{ prompt: 'x', ticket_ref: 'linear:a b' }, '/ticket_ref'],
    [{ prompt: 'x', ticket_ref: `s:${'x'.repeat(255)}` }, '/ticket_ref'],
    [{ prompt: 'x', ticket_ref: null }, '/ticket_ref'],
    [{ prompt: 'x', ticket_url: 'javascript:alert(1)' }, '/ticket_url'],
    [{ prompt: 'x', ticket_url: 'https://me:swordfish@example.com/1' }, '/ticket_url'],
    [{ prompt: 'x', ticket_url: `https://example.com/${'y'.repeat(2029)}` }, '/ticket_url'],
    [{ prompt: 'x', config: {} }, '/config'],
  ])('rejects invalid input with 400 (case %#)', async (body, pointer) => {
    const answer = await dispatch(body, {}, 400);
    expect(pointersOf(answer)).toEqual([pointer]);
    expect(JSON.stringify(answer)).not.toContain('swordfish');
  });

  it('rejects a long prompt with 413, and another media type with 415', async () => {
    expect(pointersOf(await dispatch({ prompt: 'x'.repeat(1_048_577) }, {}, 413))).toEqual(['/prompt']);
    const request = { token: fixture.member.token, body: '{}', contentType: 'text/plain' };
    await fixture.request(415, `POST /factory/${factory}/runs`, request);
  });

  it('allows callers who may create runs of the team, with any team header', async () => {
    const go = { prompt: 'Go.' };
    for (const by of [fixture.owner, fixture.bot, fixture.adminOfBoth]) await dispatch(go, { by });
    await dispatch(go, { by: fixture.adminOfBoth, headers: inTeam(fixture.otherTeam) });
    expect((await dispatch(go, { by: fixture.viewer }, 403)).detail).toContain('does not allow creating runs');
    await dispatch(go, { by: fixture.stranger }, 404);
    await dispatch(go, { of: UNKNOWN_UID }, 404);
  });
});
