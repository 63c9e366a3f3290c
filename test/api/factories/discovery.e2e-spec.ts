import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

let fixture: ApiFixture;
/** A separate team, so that nothing else is listed. */
let team: string;
let reader: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { publicUrl: 'https://headrace.example.com' } });
  team = await fixture.api.identities.team('Readers');
  reader = await fixture.api.identities.user({ [team]: 'viewer' });
});
afterAll(() => fixture.close());

const list = async (query: Record<string, string> = {}, { token } = reader, status = 200) =>
  (await fixture.request(status, `GET /factory?${new URLSearchParams(query).toString()}`, { token })).body;
const namesIn = ({ factories }: { factories: { name: string }[] }): string[] => factories.map(({ name }) => name);

describe('listFactories', () => {
  it('returns the factories of the team with their foremen, sorted by name without case', async () => {
    const bare = await fixture.createFactory({ teamUid: team, name: 'beta' });
    const full = await fixture.createFactory({ teamUid: team, name: 'Alpha', description: 'Does A.', alias: 'al-pha' });
    await fixture.createFactory({ name: 'Of another team' });
    const foreman = await fixture.createForeman(full);
    const { factories, page_info } = await list();
    expect(page_info).toEqual({ has_next_page: false });
    const times = { created_at: expect.stringMatching(/Z$/), updated_at: expect.stringMatching(/Z$/) };
    const scope = { type: 'Team', uid: team };
    expect(factories).toEqual([
      {
        ...{ uid: full, name: 'Alpha', description: 'Does A.', alias: 'al-pha', scope, ...times },
        ...{ foreman_agent: 'foreman', foreman_agent_uid: foreman },
      },
      { uid: bare, name: 'beta', description: '', scope, ...times },
    ]);
  });

  it('finds parts of name, alias and description without case, and escapes wildcards', async () => {
    const of = await fixture.api.identities.team('Searched');
    const { token } = await fixture.api.identities.user({ [of]: 'viewer' });
    await fixture.createFactory({ teamUid: of, name: 'Nightly 100%' });
    await fixture.createFactory({ teamUid: of, name: 'Reviews', alias: 'night-shift' });
    await fixture.createFactory({
      teamUid: of,
      name: 'Triage',
      description: 'Looks at what broke over NIGHT_time. ÄÖÜ',
    });
    const found = async (query: string) => namesIn(await list({ query }, { token } as TestPrincipal));
    expect(await found('night')).toEqual(['Nightly 100%', 'Reviews', 'Triage']);
    expect(await found('SHIFT')).toEqual(['Reviews']);
    expect(await found('100%')).toEqual(['Nightly 100%']);
    expect(await found('%')).toEqual(['Nightly 100%']);
    expect(await found('night_')).toEqual(['Triage']);
    expect(await found('äöü')).toEqual(['Triage']);
    expect(await found('nowhere')).toEqual([]);
    expect(await found('\\')).toEqual([]);
    expect(namesIn(await list({ search: 'SHIFT' }, { token } as TestPrincipal))).toEqual(['Reviews']);
  });

  it('returns every factory once across pages, also with equal names', async () => {
    const of = await fixture.api.identities.team('Paged');
    const paged = await fixture.api.identities.user({ [of]: 'viewer' });
    const names = ['b', 'B', 'b', 'a', 'C', 'b'];
    const uids = await Promise.all(names.map((name) => fixture.createFactory({ teamUid: of, name })));
    const seen: { uid: string; name: string }[] = [];
    let cursor: string | undefined;
    do {
      const body = await list({ limit: '2', ...(cursor !== undefined && { cursor }) }, paged);
      expect(body.factories.length).toBeLessThanOrEqual(2);
      seen.push(...body.factories);
      cursor = body.page_info.next_cursor;
    } while (cursor !== undefined);
    expect(seen.map(({ uid }) => uid).sort()).toEqual([...uids].sort());
    expect(seen.map(({ name }) => name.toLowerCase())).toEqual(['a', 'b', 'b', 'b', 'b', 'c']);
  });

  it('lists all teams of the caller, or the team of the header', async () => {
    const mine = await fixture.createFactory({ name: 'Mine to see' });
    const theirs = await fixture.createFactory({ teamUid: fixture.otherTeam, name: 'Theirs' });
    const uids = async (headers: Record<string, string>) => {
      const { body } = await fixture.request(200, 'GET /factory?limit=500', {
        token: fixture.adminOfBoth.token,
        headers,
      });
      return (body as { factories: { uid: string }[] }).factories.map(({ uid }) => uid);
    };
    expect(await uids({})).toEqual(expect.arrayContaining([mine, theirs]));
    expect(await uids(inTeam(fixture.otherTeam))).toEqual(expect.arrayContaining([theirs]));
    expect(await uids(inTeam(fixture.otherTeam))).not.toContain(mine);
    await fixture.request(403, 'GET /factory', { token: fixture.stranger.token, headers: inTeam(fixture.team) });
  });

  it('rejects invalid limits and a cursor of another list with 400', async () => {
    const { token } = fixture.admin;
    await fixture.createFactory();
    await fixture.createFactory();
    const { page_info } = await list({ limit: '1' }, fixture.admin);
    const cursor = page_info.next_cursor as string;
    const refused: [Record<string, string>, string][] = [
      [{ limit: '0' }, '/limit'],
      [{ limit: '501' }, '/limit'],
      [{ query: ' ' }, '/query'],
      [{ query: 'x'.repeat(201) }, '/query'],
      [{ search: ' ' }, '/search'],
      [{ query: 'a', search: 'b' }, '/search'],
      [{ cursor: `${cursor}x` }, '/cursor'],
      [{ cursor, query: 'fact' }, '/cursor'],
      [{ colour: 'red' }, '/colour'],
    ];
    for (const [query, pointer] of refused)
      expect(pointersOf(await list(query, fixture.admin, 400))).toEqual([pointer]);
    const elsewhere = { token, headers: inTeam(fixture.team) };
    await fixture.request(200, `GET /factory?cursor=${cursor}`, elsewhere);
    await fixture.request(400, `GET /factory?cursor=${cursor}`, { token: fixture.adminOfBoth.token });
  });
});

describe('getFactory', () => {
  it('returns a factory of the caller’s team to every role', async () => {
    const uid = await fixture.createFactory({ name: 'One', alias: 'one' });
    const foreman = await fixture.createForeman(uid);
    for (const { token } of [fixture.owner, fixture.viewer, fixture.bot, fixture.adminOfBoth])
      expect((await fixture.request(200, `GET /factory/${uid}`, { token })).body).toMatchObject({
        ...{ uid, name: 'One', alias: 'one', foreman_agent: 'foreman', foreman_agent_uid: foreman },
      });
  });

  it('returns the same 404 for another team’s and an unknown factory, and 400 for a blank uid', async () => {
    const uid = await fixture.createFactory();
    const { token } = fixture.stranger;
    const theirs = (await fixture.request(404, `GET /factory/${uid}`, { token })).body;
    const never = (await fixture.request(404, `GET /factory/${UNKNOWN_UID}`, { token })).body;
    expect({ ...theirs, instance: '', trace_id: '' }).toEqual({ ...never, instance: '', trace_id: '' });
    await fixture.request(404, 'GET /factory/short', { token });
    await fixture.request(400, 'GET /factory/%20', { token });
    const headers = inTeam(fixture.team);
    await fixture.request(403, `GET /factory/${uid}`, { token, headers });
  });
});
