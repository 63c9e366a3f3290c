import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const get = async (path: string, token = fixture.member.token): Promise<object> =>
  (await fixture.request(200, `GET /agent/${path}/redirect`, { token })).body;

async function run(shape: object = {}): Promise<{ conversationId: string; sessionId: string }> {
  const built = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED', ...shape });
  return { conversationId: built.conversationId ?? '', sessionId: `session-${built.id}` };
}

describe('getConversationRedirect and getSessionRedirect', () => {
  it('return each other', async () => {
    const { conversationId, sessionId } = await run();
    expect(await get(`conversations/${conversationId}`)).toEqual({ session_id: sessionId });
    expect(await get(`sessions/${sessionId}`)).toEqual({ conversation_id: conversationId });
    expect(await get(`sessions/${sessionId}`, fixture.viewer.token)).toEqual({ conversation_id: conversationId });
  });

  it('return the newest session of a conversation that was continued', async () => {
    const { conversationId } = await run({ createdAt: new Date(Date.now() - 600_000) });
    const again = await run({ conversationId, createdAt: new Date(Date.now() - 300_000) });
    await fixture.runs.build({ by: fixture.member, team: fixture.team, conversationId });
    expect(await get(`conversations/${conversationId}`)).toEqual({ session_id: again.sessionId });
  });

  it('accept every format of session ids', async () => {
    for (const sessionId of ['ses_1f2e/3 ü%', 'x'.repeat(512)]) {
      const { conversationId } = await run({ sessionId });
      expect(await get(`sessions/${encodeURIComponent(sessionId)}`)).toEqual({ conversation_id: conversationId });
    }
  });

  it('return the same empty 200 for ids without a counterpart, unknown ids, and ids without access', async () => {
    const { conversationId, sessionId } = await run();
    const { conversationId: begun } = await run({ by: fixture.stranger, team: fixture.otherTeam });
    const waiting = '01900000-0000-7000-8000-00000000beef';
    await fixture.runs.build({ by: fixture.member, team: fixture.team, conversationId: waiting });
    for (const path of [
      `conversations/${waiting}`,
      `conversations/${UNKNOWN_RUN_ID}`,
      `conversations/${begun}`,
      `sessions/${UNKNOWN_RUN_ID}`,
    ])
      expect(await get(path)).toEqual({});
    expect(await get(`conversations/${conversationId}`, fixture.stranger.token)).toEqual({});
    expect(await get(`sessions/${sessionId}`, fixture.stranger.token)).toEqual({});
  });

  it('ignore a session with the same id of another owner', async () => {
    const { conversationId } = await run({ sessionId: 'shared-name' });
    await run({ by: fixture.stranger, team: fixture.otherTeam, sessionId: 'shared-name' });
    expect(await get('sessions/shared-name')).toEqual({ conversation_id: conversationId });
  });

  it.each(['conversations', 'sessions'])(
    '%s rejects a blank id with 400, and a malformed one with 404',
    async (kind) => {
      const { token } = fixture.member;
      const blank = await fixture.request(400, `GET /agent/${kind}/%20/redirect`, { token });
      expectProblem(fixture.api, blank, 'invalid_request');
      const malformed = kind === 'sessions' ? `${'x'.repeat(513)}` : 'nonsense';
      const answer = await fixture.request(404, `GET /agent/${kind}/${malformed}/redirect`, { token });
      expectProblem(fixture.api, answer, 'resource_not_found');
    },
  );

  it.each(['conversations', 'sessions'])('%s rejects the header of a team of others with 403', async (kind) => {
    const answer = await fixture.request(403, `GET /agent/${kind}/${UNKNOWN_RUN_ID}/redirect`, {
      token: fixture.member.token,
      headers: { 'X-Headrace-Team-Uid': fixture.otherTeam },
    });
    expectProblem(fixture.api, answer, 'not_authorized');
  });
});
