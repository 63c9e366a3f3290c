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
  it('200 with each other', async () => {
    const { conversationId, sessionId } = await run();
    expect(await get(`conversations/${conversationId}`)).toEqual({ session_id: sessionId });
    expect(await get(`sessions/${sessionId}`)).toEqual({ conversation_id: conversationId });
    expect(await get(`sessions/${sessionId}`, fixture.viewer.token)).toEqual({ conversation_id: conversationId });
  });

  it('200 with the newest session of a conversation that was continued', async () => {
    const { conversationId } = await run({ createdAt: new Date(Date.now() - 600_000) });
    const again = await run({ conversationId, createdAt: new Date(Date.now() - 300_000) });
    await fixture.runs.build({ by: fixture.member, team: fixture.team, conversationId });
    expect(await get(`conversations/${conversationId}`)).toEqual({ session_id: again.sessionId });
  });

  it('take session ids as agents make them', async () => {
    for (const sessionId of ['ses_1f2e/3 ü%', 'x'.repeat(512)]) {
      const { conversationId } = await run({ sessionId });
      expect(await get(`sessions/${encodeURIComponent(sessionId)}`)).toEqual({ conversation_id: conversationId });
    }
  });

  it('200 and empty alike for what has no counterpart, what is unknown, and what is not yours', async () => {
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

  it('a session of the same name that is somebody else’s changes nothing', async () => {
    const { conversationId } = await run({ sessionId: 'shared-name' });
    await run({ by: fixture.stranger, team: fixture.otherTeam, sessionId: 'shared-name' });
    expect(await get('sessions/shared-name')).toEqual({ conversation_id: conversationId });
  });

  it.each(['conversations', 'sessions'])('%s: 400 for a blank id, 404 for one that cannot be one', async (kind) => {
    const { token } = fixture.member;
    const blank = await fixture.request(400, `GET /agent/${kind}/%20/redirect`, { token });
    expectProblem(fixture.api, blank, 'invalid_request');
    const malformed = kind === 'sessions' ? `${'x'.repeat(513)}` : 'nonsense';
    const answer = await fixture.request(404, `GET /agent/${kind}/${malformed}/redirect`, { token });
    expectProblem(fixture.api, answer, 'resource_not_found');
  });

  it.each(['conversations', 'sessions'])('%s: 403 in the name of a team that you are not on', async (kind) => {
    const answer = await fixture.request(403, `GET /agent/${kind}/${UNKNOWN_RUN_ID}/redirect`, {
      token: fixture.member.token,
      headers: { 'X-Headrace-Team-Uid': fixture.otherTeam },
    });
    expectProblem(fixture.api, answer, 'not_authorized');
  });
});
