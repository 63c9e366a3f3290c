import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

interface Page {
  readonly approvals: { approval_id: string; run_id: string; run_title: string; state: string; requested_at: string }[];
  readonly page_info: { has_next_page: boolean; next_cursor?: string };
}

let fixture: ApiFixture;
/** A separate team for each test. */
let team: string;
let member: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  fixture.api.log.clear();
  team = await fixture.api.identities.team();
  member = await fixture.api.identities.user({ [team]: 'member' });
});

const block = (approvals = 1, shape: object = {}) =>
  fixture.runs.build({ by: member, team, state: 'BLOCKED', approvals, ...shape });
const list = async (query = '', token = member.token, team_?: string): Promise<Page> =>
  (
    await fixture.request(200, `GET /agent/approvals${query}`, {
      token,
      ...(team_ === undefined ? {} : { headers: { 'x-headrace-team-uid': team_ } }),
    })
  ).body;
const ids = (page: Page): string[] => page.approvals.map(({ approval_id: id }) => id);

describe('the permission requests of all runs', () => {
  it('are listed with their run, newest first', async () => {
    const first = await block(1, { title: 'Release' });
    await fixture.api.advanceClock(1000);
    const second = await block(1, { title: 'Deploy' });
    const page = await list();
    expect(ids(page)).toEqual([second.approvalIds[0], first.approvalIds[0]]);
    expect(page.page_info).toEqual({ has_next_page: false });
    expect(page.approvals[1]).toMatchObject({
      run_id: first.id,
      run_title: 'Release',
      title: 'Run `make deploy`',
      input: { command: 'make deploy' },
      state: 'pending',
    });
  });

  it('are listed once each across pages, also with equal times', async () => {
    const { approvalIds } = await block(5);
    const others = await block(2);
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list(`?limit=2&state=pending${cursor}`);
      expect(page.approvals.length).toBeLessThanOrEqual(2);
      seen.push(...ids(page));
      cursor = page.page_info.next_cursor === undefined ? '' : `&cursor=${page.page_info.next_cursor}`;
      expect(page.page_info.has_next_page).toBe(cursor !== '');
    } while (cursor !== '');
    expect(seen).toHaveLength(7);
    expect(new Set(seen)).toEqual(new Set([...approvalIds, ...others.approvalIds]));
  });

  it('are filtered by state', async () => {
    const { id, approvalIds } = await block(3);
    const [allowed = '', denied = '', pending = ''] = approvalIds;
    const decide = (approvalId: string, decision: string) =>
      fixture.request(200, `POST /agent/runs/${id}/approvals/${approvalId}`, {
        token: member.token,
        body: { decision },
      });
    await decide(allowed, 'allow');
    await decide(denied, 'deny');
    expect(ids(await list('?state=pending'))).toEqual([pending]);
    expect(ids(await list('?state=allowed'))).toEqual([allowed]);
    expect(ids(await list('?state=denied'))).toEqual([denied]);
    expect(ids(await list()).sort()).toEqual([...approvalIds].sort());
  });

  it('of a cancelled run are not listed as pending', async () => {
    const { id } = await block();
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: member.token });
    expect(ids(await list('?state=pending'))).toEqual([]);
  });
});

describe('authorization', () => {
  it('lists requests of the caller and of the caller’s teams, and of one team with the team header', async () => {
    const otherTeam = await fixture.api.identities.team();
    const both = await fixture.api.identities.user({ [team]: 'member', [otherTeam]: 'viewer' });
    const here = await block();
    const there = await fixture.runs.build({ by: both, team: otherTeam, state: 'BLOCKED' });
    const own = await fixture.runs.build({ by: both, state: 'BLOCKED' });
    const [one = '', two = '', three = ''] = [here, there, own].flatMap(({ approvalIds }) => approvalIds);
    expect(ids(await list('', both.token)).sort()).toEqual([one, two, three].sort());
    expect(ids(await list('', both.token, otherTeam)).sort()).toEqual([two, three].sort());
    expect(ids(await list())).toEqual([one]);
    expect(ids(await list('', fixture.stranger.token))).toEqual([]);
    const robot = await fixture.api.identities.serviceAccount(otherTeam);
    expect(ids(await list('', robot.token))).toEqual([two]);
    await fixture.request(401, 'GET /agent/approvals');
  });

  it('rejects the header of a team that the caller is not a member of with 403', async () => {
    const answer = await fixture.request(403, 'GET /agent/approvals', {
      token: member.token,
      headers: { 'x-headrace-team-uid': fixture.otherTeam },
    });
    expectProblem(fixture.api, answer, 'not_authorized');
  });
});

describe('invalid parameters', () => {
  it.each([
    ['state=waiting', '/state', 'must be one of pending, allowed, denied, answered'],
    ['limit=0', '/limit', 'must be an integer between 1 and 100'],
    ['limit=101', '/limit', 'must be an integer between 1 and 100'],
    ['cursor=abc', '/cursor', 'is not a cursor of this list'],
    ['sort=title', '/sort', 'is not a known field'],
  ])('rejects %s with 400', async (query, pointer, detail) => {
    const answer = await fixture.request(400, `GET /agent/approvals?${query}`, { token: member.token });
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
  });

  it('rejects a cursor of another state filter or of another caller with 400', async () => {
    await block(2);
    const { page_info: info } = await list('?limit=1&state=pending');
    for (const [query, token] of [
      [`?limit=1&cursor=${info.next_cursor}`, member.token],
      [`?limit=1&state=pending&cursor=${info.next_cursor}`, fixture.stranger.token],
    ] as const)
      expectProblem(
        fixture.api,
        await fixture.request(400, `GET /agent/approvals${query}`, { token }),
        'invalid_request',
        [{ pointer: '/cursor', detail: 'is not a cursor of this list' }],
      );
  });
});
