import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const CLAUDE = { config: { harness: { type: 'claude' } } } as const;

/** A conversation's id. */
async function conversation(shape: object): Promise<string> {
  const built = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED', ...shape });
  return built.conversationId ?? '';
}
const ask = (status: number, id: string, token = fixture.member.token) =>
  fixture.request(status, `GET /agent/conversations/${id}/transcript`, { token });
async function download(id: string, token?: string): Promise<string> {
  const { headers, text } = await ask(302, id, token);
  expect(text).not.toContain('secret');
  const url = headers.get('location') ?? '';
  return (await fixture.api.atOrigin(200, `GET ${url.slice(fixture.api.url.length)}`)).text;
}

describe('getConversationTranscript', () => {
  it('302 to the transcript of a third-party agent, for principals that may read the conversation', async () => {
    const id = await conversation({ ...CLAUDE, transcript: 'secret\n', transcriptFormat: 'claude' });
    expect(await download(id)).toBe('secret\n');
    expect(await download(id, fixture.viewer.token)).toBe('secret\n');
  });

  it('302 to the newest transcript of its runs', async () => {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const transcriptFormat = 'claude';
    const id = await conversation({ ...CLAUDE, transcript: 'old\n', transcriptFormat, createdAt: at(30) });
    const more = { by: fixture.member, team: fixture.team, conversationId: id, ...CLAUDE };
    await fixture.runs.build({
      ...more,
      state: 'SUCCEEDED',
      transcript: 'newer\n',
      transcriptFormat,
      createdAt: at(20),
    });
    await fixture.runs.build({ ...more, createdAt: at(10) });
    // Newer still, but somebody's own.
    await fixture.runs.build({
      ...more,
      team: undefined,
      state: 'SUCCEEDED',
      transcript: 'mine\n',
      transcriptFormat,
      createdAt: at(15),
    });
    expect(await download(id, fixture.viewer.token)).toBe('newer\n');
    expect(await download(id)).toBe('mine\n');
  });

  it('rule 5 and error table, 404: the conversation is unknown, or has no transcript', async () => {
    const without = await conversation(CLAUDE);
    for (const id of [UNKNOWN_RUN_ID, 'nonsense', without])
      expectProblem(fixture.api, await ask(404, id), 'resource_not_found');
    expect((await ask(404, without)).body.detail).toBe('The conversation has no transcript.');
  });

  it('rule 5: 400 for a format without raw download: the built-in agent’s, with and without a transcript', async () => {
    for (const shape of [{ transcript: 'oz\n' }, {}, { config: { harness: { type: 'opencode' } } }]) {
      const answer = await ask(400, await conversation(shape));
      expectProblem(fixture.api, answer, 'invalid_request');
      expect(answer.body).toMatchObject({ retryable: false, detail: expect.stringContaining('raw transcript') });
    }
  });

  it('400 for a blank id', async () => {
    expectProblem(fixture.api, await ask(400, '%20'), 'invalid_request');
  });

  it('error table, 403: no permission on the transcript of the conversation', async () => {
    const id = await conversation({ ...CLAUDE, transcript: 'secret\n', transcriptFormat: 'claude' });
    expectProblem(fixture.api, await ask(403, id, fixture.stranger.token), 'not_authorized');
  });
});
