import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';
import { isLong } from '../../support/long-tests.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const read = async (id: string, token = fixture.member.token) =>
  (await fixture.request(200, `GET /agent/conversations/${id}`, { token })).body;
const succeeded = { state: 'SUCCEEDED' } as const;
const ofTeam = () => ({ ...succeeded, by: fixture.member, team: fixture.team });
/** A new conversation's id, and its run's. */
async function conversation(shape: object = {}): Promise<{ id: string; runId: string }> {
  const { id: runId, conversationId } = await fixture.runs.build({ ...ofTeam(), ...shape });
  return { id: conversationId ?? '', runId };
}
/** The prompts that its steps began with. */
const prompts = (body: { steps: { description?: string }[] }): (string | undefined)[] =>
  body.steps.map(({ description }) => description).filter((description) => description !== 'Setup');

describe('getConversation', () => {
  it('returns the conversation of its run', async () => {
    const { id, runId } = await conversation();
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/conversation`, {
      token: fixture.member.token,
    });
    expect(body.conversation_id).toBe(id);
    expect(await read(id)).toEqual(body);
    expect(await read(id.toUpperCase())).toEqual(body);
  });

  it('returns the steps of all its runs, oldest first, with unique ids', async () => {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const { id } = await conversation({ prompt: 'Second', createdAt: at(20) });
    await fixture.runs.build({ ...ofTeam(), conversationId: id, prompt: 'Third', createdAt: at(10) });
    const { id: oldest } = await fixture.runs.build({
      ...ofTeam(),
      conversationId: id,
      prompt: 'First',
      createdAt: at(30),
    });
    // Created as a continuation, and not started yet.
    await fixture.runs.build({ by: fixture.member, team: fixture.team, conversationId: id, prompt: 'Fourth' });
    const body = await read(id);
    expect(prompts(body)).toEqual(['First', 'Second', 'Third']);
    const ids = body.steps.map((step: { id: string }) => step.id) as string[];
    expect(new Set(ids).size).toBe(ids.length);
    const alone = await fixture.request(200, `GET /agent/runs/${oldest}/conversation`, {
      token: fixture.member.token,
    });
    expect(body.steps.slice(0, alone.body.steps.length)).toEqual(alone.body.steps);
    expect(await read(id)).toEqual(body);
  });

  it('returns only runs that the caller may read', async () => {
    const { id } = await conversation({ prompt: 'For all' });
    await fixture.runs.build({ ...succeeded, by: fixture.member, conversationId: id, prompt: 'For myself' });
    expect(prompts(await read(id))).toEqual(['For all', 'For myself']);
    expect(prompts(await read(id, fixture.viewer.token))).toEqual(['For all']);
  });

  it.runIf(isLong)(
    'returns 503 when its runs exceed the size of a response; each run can be read by itself',
    async () => {
      const long = 'x'.repeat(17 * 1024 * 1024);
      const { id, runId } = await conversation({ prompt: long });
      await fixture.runs.build({ ...ofTeam(), conversationId: id, prompt: long });
      await read(id);
      await fixture.runs.build({ ...ofTeam(), conversationId: id, prompt: 'And more.' });
      const answer = await fixture.request(503, `GET /agent/conversations/${id}`, { token: fixture.member.token });
      expectProblem(fixture.api, answer, 'resource_unavailable');
      expect(answer.body.detail).toContain('GET /agent/runs/{runId}/conversation');
      await fixture.request(200, `GET /agent/runs/${runId}/conversation`, { token: fixture.member.token });
    },
  );

  it('returns more steps while its run continues', async () => {
    const { body: created } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go' },
    });
    const runner = await TestRunner.take(fixture.api, created.run_id);
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go' }]);
    const run = await fixture.request(200, `GET /agent/runs/${created.run_id}`, { token: fixture.member.token });
    const { conversation_id: id } = run.body;
    expect(prompts(await read(id))).toEqual(['Go']);
    await runner.report(['message_chunk', { message_id: 'm1', text: 'Gone.' }]);
    expect(JSON.stringify(await read(id))).toContain('Gone.');
  });

  it('error table, 403: no permission on the conversation', async () => {
    const { id } = await conversation();
    const answer = await fixture.request(403, `GET /agent/conversations/${id}`, { token: fixture.stranger.token });
    expectProblem(fixture.api, answer, 'not_authorized');
  });

  it('rule 4 and error table, 404: the conversation is unknown', async () => {
    for (const id of [UNKNOWN_RUN_ID, 'nonsense']) {
      const answer = await fixture.request(404, `GET /agent/conversations/${id}`, { token: fixture.member.token });
      expectProblem(fixture.api, answer, 'resource_not_found');
    }
  });

  it('rule 4: 422 for a format that nothing here reads, in whichever of its runs', async () => {
    const { id } = await conversation();
    await fixture.runs.build({ ...ofTeam(), conversationId: id, conversationFormat: 'elsewhere-v9' });
    const answer = await fixture.request(422, `GET /agent/conversations/${id}`, { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'operation_not_supported');
    expect(answer.body).toMatchObject({ retryable: false, detail: expect.stringContaining('elsewhere-v9') });
  });

  it('rejects a blank id with 400', async () => {
    const answer = await fixture.request(400, 'GET /agent/conversations/%20', { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'invalid_request');
    expect(answer.body.detail).toContain('conversation_id');
  });
});
