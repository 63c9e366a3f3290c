import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ArtifactBuilder, type TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, statementsDuring } from '../../support/api-requests.js';
import { isLong } from '../../support/long-tests.js';

let fixture: ApiFixture;
let artifacts: ArtifactBuilder;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  artifacts = new ArtifactBuilder(fixture.database);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

let count = 0;
/** An address of this test's own. */
const freshUrl = (): string => `https://tracker.example.com/browse/T-${(count += 1)}`;
const line = (url: string): string => `GET /agent/run-by-external-reference?url=${encodeURIComponent(url)}`;
const ask = (status: number, url: string, by: TestPrincipal = fixture.member, headers: Record<string, string> = {}) =>
  fixture.request(status, line(url), { token: by.token, headers });

async function runWith(url: string, by: TestPrincipal, team?: string, ageMinutes = 1): Promise<string> {
  const createdAt = new Date(Date.now() - ageMinutes * 60_000);
  const { id } = await fixture.runs.build({ by, ...(team === undefined ? {} : { team }), createdAt });
  await artifacts.build(id, { type: 'EXTERNAL_REFERENCE', url });
  return id;
}

describe('rule 1: get-run-by-external-reference', () => {
  it('matches the canonical locator of an EXTERNAL_REFERENCE artifact, however the address is written', async () => {
    const id = await runWith('https://tracker.example.com/browse/A-1?b=2&a=1', fixture.member, fixture.team);
    for (const url of [
      'https://tracker.example.com/browse/A-1?b=2&a=1',
      'HTTPS://Tracker.Example.COM:443/browse/A-1/?b=2&a=1#comment-3',
      'https://tracker.example.com/browse/./A-1//?b=2&a=1',
    ])
      expect((await ask(200, url)).body).toEqual({ run_id: id });
    for (const url of [
      'https://tracker.example.com/browse/A-1?a=1&b=2',
      'https://tracker.example.com/browse/A-1',
      'https://tracker.example.com/browse/a-1?b=2&a=1',
      'http://tracker.example.com/browse/A-1?b=2&a=1',
      'https://tracker.example.com:444/browse/A-1?b=2&a=1',
    ])
      await ask(404, url);
  });

  it('finds the run that handed in a pull request by its address, and hides it from strangers', async () => {
    const url = freshUrl();
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    await artifacts.build(id, { type: 'PULL_REQUEST', url });
    expect((await ask(200, `${url}/#issuecomment-1`)).body).toEqual({ run_id: id });
    await ask(404, url, fixture.stranger);
  });

  it('gives the newest run among those that the caller may see, whenever its reference was made', async () => {
    const url = freshUrl();
    const newest = await runWith(url, fixture.member, fixture.team, 5);
    const older = await runWith(url, fixture.member, fixture.team, 50);
    const personal = await runWith(url, fixture.member, undefined, 2);
    const foreign = await runWith(url, fixture.stranger, fixture.otherTeam, 1);
    expect((await ask(200, url)).body).toEqual({ run_id: personal });
    expect((await ask(200, url, fixture.viewer)).body).toEqual({ run_id: newest });
    expect((await ask(200, url, fixture.stranger)).body).toEqual({ run_id: foreign });
    const robot = await fixture.api.identities.serviceAccount(fixture.team);
    expect((await ask(200, url, robot)).body).toEqual({ run_id: newest });
    expect(older).not.toBe(newest);
  });

  it('is not narrowed by a team header, as reading one run is not', async () => {
    const url = freshUrl();
    const both = await fixture.api.identities.user({ [fixture.team]: 'viewer', [fixture.otherTeam]: 'viewer' });
    await runWith(url, fixture.member, fixture.team, 9);
    const other = await runWith(url, fixture.stranger, fixture.otherTeam, 3);
    expect((await ask(200, url, both)).body).toEqual({ run_id: other });
    expect((await ask(200, url, both, { 'x-headrace-team-uid': fixture.team })).body).toEqual({ run_id: other });
  });

  it('404 for no access as for nothing: same body but for the trace id, same headers, same statements', async () => {
    const [hidden, nowhere] = [freshUrl(), freshUrl()];
    await runWith(hidden, fixture.stranger, fixture.otherTeam);
    await runWith(hidden, fixture.viewer);
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    const statements: string[][] = [];
    for (const url of [hidden, nowhere]) {
      statements.push(await statementsDuring(fixture.api, async () => void answers.push(await ask(404, url))));
    }
    for (const answer of answers) expectProblem(fixture.api, answer, 'resource_not_found');
    const [first, second] = answers.map(({ body: { trace_id: _trace, ...rest }, headers }) => ({
      rest,
      headers: [...headers.keys()].sort(),
      length: headers.get('content-length'),
    }));
    expect(first).toEqual(second);
    expect(statements).toEqual([['artifacts.run-by-locator'], ['artifacts.run-by-locator']]);
  });
});

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

it.runIf(isLong)(
  'rule 1: 404 for no access takes as long as 404 for nothing, however many references others have',
  { timeout: 120_000 },
  async () => {
    const [hidden, nowhere] = [freshUrl(), freshUrl()];
    const { id } = await fixture.runs.build({ by: fixture.stranger, team: fixture.otherTeam });
    await fixture.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, locator, run_created_at, created_at)
       SELECT 'x' || n, r.id, r.slot_key, n::text, 'EXTERNAL_REFERENCE', '{}', $2, r.created_at, r.created_at
         FROM runs r, generate_series(1, 20000) n WHERE r.id = $1`,
      [id, hidden],
    );
    await fixture.database.query('ANALYZE artifacts');
    const times: Record<'hidden' | 'nowhere', number[]> = { hidden: [], nowhere: [] };
    // A B B A: whatever drifts hits both alike.
    for (const name of Array.from({ length: 400 }, () => ['hidden', 'nowhere', 'nowhere', 'hidden'] as const).flat()) {
      const startedAt = performance.now();
      await ask(404, name === 'hidden' ? hidden : nowhere);
      times[name].push(performance.now() - startedAt);
    }
    const [there, none] = [median(times.hidden), median(times.nowhere)];
    expect(Math.abs(there - none) / none, `${there} ms and ${none} ms`).toBeLessThan(0.1);
  },
);

describe('`url`', () => {
  it.each([
    ['missing', '', 'is required'],
    ['blank', '?url=', 'must not be blank'],
    ['spaces', '?url=%20%20', 'must not be blank'],
    ['no URL', '?url=A-1', 'must be an absolute http or https URL'],
    ['another scheme', '?url=ftp%3A%2F%2Fx%2Fy', 'must be an absolute http or https URL'],
    ['credentials', '?url=https%3A%2F%2Fu%3Ap%40x%2Fy', 'must not hold a user name or password'],
    ['too long', `?url=https://x/${'y'.repeat(2048)}`, 'must not exceed 2048 characters'],
    [
      'too long when it is escaped',
      `?url=https://x/${'%C3%A4'.repeat(500)}`,
      'must not exceed 2048 characters when it is escaped',
    ],
    ['twice', '?url=https://x/1&url=https://x/2', 'must be a string'],
  ])('400 for one that is %s', async (_name, query, detail) => {
    const answer = await fixture.request(400, `GET /agent/run-by-external-reference${query}`, {
      token: fixture.member.token,
    });
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer: '/url', detail }]);
    expect(answer.body.detail).toContain('url');
  });

  it('may have 2,048 characters', async () => {
    const url = `https://x.example/${'y'.repeat(2048 - 18)}`;
    const id = await runWith(url, fixture.member, fixture.team);
    expect((await ask(200, url)).body).toEqual({ run_id: id });
  });
});
