import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const submit = (status: number, conversationId: string, body?: object, { token } = fixture.member) =>
  fixture.request(status, `POST /agent/conversations/${conversationId}/followups`, { token, body });
const ended = (conversationId?: string, createdAt?: Date) =>
  fixture.runs.build({
    by: fixture.member,
    team: fixture.team,
    state: 'SUCCEEDED',
    ...(conversationId !== undefined && { conversationId }),
    ...(createdAt !== undefined && { createdAt }),
  });

describe('a follow-up in a conversation', () => {
  it('reaches the newest run of the conversation', async () => {
    const first = await ended(undefined, new Date('2026-01-01T00:00:00Z'));
    const conversationId = first.conversationId ?? '';
    const newest = await ended(conversationId, new Date('2026-01-02T00:00:00Z'));
    const { body } = await submit(200, conversationId, { message: 'Continue.', mode: 'plan' });
    expect(body).toEqual({ followup_id: expect.any(String), outcome: 'handoff_execution', run_id: newest.id });
    expect((await fixture.getRun(newest.id)).state).toBe('QUEUED');
    expect((await fixture.getRun(first.id)).state).toBe('SUCCEEDED');
  });

  it('may be empty when the run continues from its saved conversation', async () => {
    const { id, conversationId } = await ended();
    expect((await submit(200, conversationId ?? '', {})).body).toMatchObject({ run_id: id });
    expectProblem(fixture.api, await submit(400, conversationId ?? '', {}), 'invalid_request', [
      { pointer: '/message', detail: 'must not be empty unless the run continues from its saved conversation' },
    ]);
  });

  it('reaches the newest run that the caller may see', async () => {
    const { id, conversationId } = await ended(undefined, new Date('2026-01-01T00:00:00Z'));
    await fixture.runs.build({
      by: fixture.stranger,
      team: fixture.otherTeam,
      state: 'SUCCEEDED',
      conversationId: conversationId ?? '',
    });
    expect((await submit(200, conversationId ?? '', { message: 'Continue.' })).body.run_id).toBe(id);
  });

  it('is rejected with 404 for an unknown conversation, and with 403 for one of others', async () => {
    const { conversationId } = await ended();
    const body = { message: 'Continue.' };
    expectProblem(fixture.api, await submit(404, UNKNOWN_RUN_ID, body), 'resource_not_found');
    expectProblem(fixture.api, await submit(404, 'no-uuid', body), 'resource_not_found');
    for (const who of [fixture.stranger, fixture.viewer])
      expectProblem(fixture.api, await submit(403, conversationId ?? '', body, who), 'not_authorized');
  });

  it('is rejected with 400 that names the field without a body, and with fields of another type', async () => {
    const { conversationId } = await ended();
    await submit(400, conversationId ?? '');
    expectProblem(
      fixture.api,
      await submit(400, conversationId ?? '', { message: 1, mode: 'fast' }),
      'invalid_request',
      [
        { pointer: '/message', detail: 'must be a string' },
        { pointer: '/mode', detail: 'must be one of normal, plan, orchestrate' },
      ],
    );
  });

  it('is rejected with 413 and 415 for a body that is too large or no JSON, and with 409 when too many wait', async () => {
    const { conversationId } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'INPROGRESS',
    });
    const id = conversationId ?? '';
    const large = await submit(413, id, { message: 'x'.repeat(1_048_577) });
    expect(large.body).toMatchObject({ error_code: 'payload_too_large', errors: [{ pointer: '/message' }] });
    await fixture.request(415, `POST /agent/conversations/${id}/followups`, {
      token: fixture.member.token,
      body: '{}',
      contentType: 'text/plain',
    });
    for (let count = 0; count < 100; count += 1) await submit(200, id, { message: 'x' });
    expectProblem(fixture.api, await submit(409, id, { message: 'x' }), 'conflict');
  });
});
