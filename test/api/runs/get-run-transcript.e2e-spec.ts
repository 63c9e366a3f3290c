import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

const TRANSCRIPT = '{"type":"session","id":"s1"}\n{"type":"text","text":"On it. 😀"}\n';

let fixture: ApiFixture;
let runId: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  ({ id: runId } = await fixture.runs.build({
    by: fixture.member,
    team: fixture.team,
    state: 'SUCCEEDED',
    transcript: TRANSCRIPT,
  }));
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

async function link(id = runId, token = fixture.member.token): Promise<string> {
  const { headers, text } = await fixture.request(302, `GET /agent/runs/${id}/transcript`, { token });
  expect(text).not.toContain('"type"');
  return headers.get('location') ?? '';
}

/** What the link gives to somebody who has nothing but the link. */
const follow = (url: string) => fixture.api.atOrigin(200, `GET ${url.slice(fixture.api.url.length)}`);
const refused = (status: number, url: string) =>
  fixture.api.atOrigin(status, `GET ${url.slice(fixture.api.url.length)}`);

describe('the transcript', () => {
  it('is served from a URL of the service that needs no token', async () => {
    const url = await link();
    expect(url.startsWith(`${fixture.api.url}/objects/transcripts/${runId}/`)).toBe(true);
    const { text, headers } = await follow(url);
    expect(text).toBe(TRANSCRIPT);
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(headers.get('content-disposition')).toContain(`${runId}.jsonl`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is there for anybody who may read the run; error table, 403: no permission on the transcript', async () => {
    await follow(await link(runId, fixture.viewer.token));
    expectProblem(
      fixture.api,
      await fixture.request(403, `GET /agent/runs/${runId}/transcript`, { token: fixture.stranger.token }),
      'not_authorized',
    );
  });

  it('rule 5 and error table, 404: the run is unknown', async () => {
    for (const id of [UNKNOWN_RUN_ID, 'nonsense']) {
      const answer = await fixture.request(404, `GET /agent/runs/${id}/transcript`, { token: fixture.member.token });
      expectProblem(fixture.api, answer, 'resource_not_found');
    }
  });

  it('rule 5 and error table, 404: the run has no transcript', async () => {
    for (const state of ['QUEUED', 'INPROGRESS', 'SUCCEEDED'] as const) {
      const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state });
      const answer = await fixture.request(404, `GET /agent/runs/${id}/transcript`, { token: fixture.member.token });
      expectProblem(fixture.api, answer, 'resource_not_found');
      expect(answer.body.detail).toBe('The run has no transcript.');
    }
  });

  it('is served until the link expires', async () => {
    const url = await link();
    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl - 5_000);
    await follow(url);
    await fixture.api.advanceClock(6_000);
    const late = await refused(403, url);
    expect(late.body.detail).toContain('expired');
    await follow(await link());
  });

  it('is served from an earlier link after the next turn replaced the transcript', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go' },
    });
    const runner = await TestRunner.take(fixture.api, body.run_id);
    await runner.startAgent();
    const upload = (text: string) =>
      fixture.request(
        204,
        `PUT /runner/v1/executions/${runner.assignment.execution_id}/transcript?lease_epoch=${runner.assignment.lease_epoch}&format=oz&session_id=s`,
        { token: runner.token, body: Buffer.from(text), contentType: 'application/octet-stream' },
      );
    await upload('first\n');
    const old = await link(body.run_id);
    await upload('second\n');
    expect((await follow(old)).text).toBe('first\n');
    expect((await follow(await link(body.run_id))).text).toBe('second\n');
    const [{ count } = { count: 0 }] = await fixture.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM discarded_objects WHERE name LIKE 'transcripts/' || $1 || '/%'`,
      [body.run_id],
    );
    expect(count).toBe(1);
  });

  it('is not served from a forged link', async () => {
    const { id: other } = await fixture.runs.build({
      by: fixture.stranger,
      team: fixture.otherTeam,
      state: 'SUCCEEDED',
      transcript: 'secret\n',
    });
    const [mine, theirs] = [new URL(await link()), new URL(await link(other, fixture.stranger.token))];
    const forgeries = [
      `${fixture.api.url}${theirs.pathname}${mine.search}`,
      `${fixture.api.url}${theirs.pathname}`,
      `${mine.href.replace(/expires=\d+/, 'expires=99999999999')}`,
      `${mine.href}&expires=99999999999`,
      `${mine.href.replace(/filename=[^&]+/, 'filename=evil.html')}`,
      `${mine.href}&content_type=text/html`,
      `${mine.href.replace(/signature=[^&]+/, 'signature=')}`,
      `${mine.href.replace(/signature=(.)/, (_match, first: string) => `signature=${first === 'A' ? 'B' : 'A'}`)}`,
    ];
    for (const forged of forgeries) {
      const answer = await refused(403, forged);
      expectProblem(fixture.api, answer, 'not_authorized');
      expect(answer.text).not.toContain('secret');
    }
  });

  it('is requested without its signature in the log', async () => {
    const url = await link();
    await follow(url);
    expect(fixture.api.log.text).not.toContain(new URL(url).searchParams.get('signature'));
  });
});
