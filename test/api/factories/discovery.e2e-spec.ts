import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestPrincipal } from '#testing';
import { inTeam, pointersOf, UNKNOWN } from '../agents/agents-room.js';
import { type FactoriesRoom, openFactoriesRoom } from './factories-room.js';

let room: FactoriesRoom;
/** A team of its own, so that nothing else is listed. */
let team: string;
let reader: TestPrincipal;

beforeAll(async () => {
  room = await openFactoriesRoom();
  team = await room.api.identities.team('Readers');
  reader = await room.api.identities.user({ [team]: 'viewer' });
});
afterAll(() => room.api.close());

const list = async (query: Record<string, string> = {}, { token } = reader, status = 200) =>
  (await room.api.request(status, `GET /factory?${new URLSearchParams(query).toString()}`, { token })).body;
const namesIn = ({ factories }: { factories: { name: string }[] }): string[] => factories.map(({ name }) => name);

describe('listFactories', () => {
  it('shows those of the team by name, whatever its case, with their foremen', async () => {
    const bare = await room.newFactory({ teamUid: team, name: 'beta' });
    const full = await room.newFactory({ teamUid: team, name: 'Alpha', description: 'Does A.', alias: 'al-pha' });
    await room.newFactory({ name: 'Of another team' });
    const foreman = await room.newForeman(full);
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

  it('finds parts of name, alias and description in any case, and takes them as they are', async () => {
    const of = await room.api.identities.team('Searched');
    const { token } = await room.api.identities.user({ [of]: 'viewer' });
    await room.newFactory({ teamUid: of, name: 'Nightly 100%' });
    await room.newFactory({ teamUid: of, name: 'Reviews', alias: 'night-shift' });
    await room.newFactory({ teamUid: of, name: 'Triage', description: 'Looks at what broke over NIGHT_time. ÄÖÜ' });
    const found = async (query: string) => namesIn(await list({ query }, { token } as TestPrincipal));
    expect(await found('night')).toEqual(['Nightly 100%', 'Reviews', 'Triage']);
    expect(await found('SHIFT')).toEqual(['Reviews']);
    expect(await found('100%')).toEqual(['Nightly 100%']);
    expect(await found('%')).toEqual(['Nightly 100%']);
    expect(await found('night_')).toEqual(['Triage']);
    expect(await found('äöü')).toEqual(['Triage']);
    expect(await found('nowhere')).toEqual([]);
    expect(await found('\\')).toEqual([]);
  });

  it('comes in pages that neither repeat nor lose one, also of equal names', async () => {
    const of = await room.api.identities.team('Paged');
    const paged = await room.api.identities.user({ [of]: 'viewer' });
    const names = ['b', 'B', 'b', 'a', 'C', 'b'];
    const uids = await Promise.all(names.map((name) => room.newFactory({ teamUid: of, name })));
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

  it('covers all teams of the caller, or the one that the header picks', async () => {
    const mine = await room.newFactory({ name: 'Mine to see' });
    const theirs = await room.newFactory({ teamUid: room.otherTeam, name: 'Theirs' });
    const uids = async (headers: Record<string, string>) => {
      const { body } = await room.api.request(200, 'GET /factory?limit=500', { token: room.both.token, headers });
      return (body as { factories: { uid: string }[] }).factories.map(({ uid }) => uid);
    };
    expect(await uids({})).toEqual(expect.arrayContaining([mine, theirs]));
    expect(await uids(inTeam(room.otherTeam))).toEqual(expect.arrayContaining([theirs]));
    expect(await uids(inTeam(room.otherTeam))).not.toContain(mine);
    await room.api.request(403, 'GET /factory', { token: room.stranger.token, headers: inTeam(room.team) });
  });

  it('400: what is no page, and a cursor of another list', async () => {
    const { token } = room.admin;
    await room.newFactory();
    await room.newFactory();
    const { page_info } = await list({ limit: '1' }, room.admin);
    const cursor = page_info.next_cursor as string;
    const refused: [Record<string, string>, string][] = [
      [{ limit: '0' }, '/limit'],
      [{ limit: '501' }, '/limit'],
      [{ query: ' ' }, '/query'],
      [{ query: 'x'.repeat(201) }, '/query'],
      [{ cursor: `${cursor}x` }, '/cursor'],
      [{ cursor, query: 'fact' }, '/cursor'],
      [{ colour: 'red' }, '/colour'],
    ];
    for (const [query, pointer] of refused) expect(pointersOf(await list(query, room.admin, 400))).toEqual([pointer]);
    const elsewhere = { token, headers: inTeam(room.team) };
    await room.api.request(200, `GET /factory?cursor=${cursor}`, elsewhere);
    await room.api.request(400, `GET /factory?cursor=${cursor}`, { token: room.both.token });
  });
});

describe('getFactory', () => {
  it('shows one of a team of the caller, to whoever reads', async () => {
    const uid = await room.newFactory({ name: 'One', alias: 'one' });
    const foreman = await room.newForeman(uid);
    for (const { token } of [room.owner, room.viewer, room.bot, room.both])
      expect((await room.api.request(200, `GET /factory/${uid}`, { token })).body).toMatchObject({
        ...{ uid, name: 'One', alias: 'one', foreman_agent: 'foreman', foreman_agent_uid: foreman },
      });
  });

  it('404 for another team’s like for one that never was; 400 for a blank one', async () => {
    const uid = await room.newFactory();
    const { token } = room.stranger;
    const theirs = (await room.api.request(404, `GET /factory/${uid}`, { token })).body;
    const never = (await room.api.request(404, `GET /factory/${UNKNOWN}`, { token })).body;
    expect({ ...theirs, instance: '', trace_id: '' }).toEqual({ ...never, instance: '', trace_id: '' });
    await room.api.request(404, 'GET /factory/short', { token });
    await room.api.request(400, 'GET /factory/%20', { token });
    const headers = inTeam(room.team);
    await room.api.request(403, `GET /factory/${uid}`, { token, headers });
  });
});
