import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  OVERSIZED_BODY,
  pointersOf,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_UID,
} from '../../support/api-requests.js';
import { EnvironmentSharing } from './environment-sharing.js';

let api: TestApi;
let fixture: ApiFixture;
let sharing: EnvironmentSharing;
let owner: TestPrincipal;
let guest: TestPrincipal;
beforeAll(async () => {
  api = await startTestApi({ settings: { publicUrl: 'https://runs.example' } });
  fixture = await ApiFixture.over(api);
  sharing = await EnvironmentSharing.prepare(fixture);
  ({ owner, guest } = sharing.people);
});
afterAll(() => api.close());

const ask = (status: number, line: string, body?: unknown, by = owner) =>
  api.request(status, line, { token: by.token, body });
const listed = async ({ token }: TestPrincipal): Promise<string[]> => {
  const { body } = await api.request(200, 'GET /agent/environments', { token });
  return body.environments.map(({ uid }: { uid: string }) => uid);
};

describe('grants', () => {
  it('are created once for each user, by uid or email, and each team', async () => {
    const uid = await sharing.createEnvironment('personal');
    const { body: first } = await ask(201, `POST /environments/${uid}/grants`, { user_uid: guest.uid });
    expect(first).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      access: 'use',
      user: { type: 'user', uid: guest.uid, display_name: 'Somebody', email: `${guest.uid}@example.test` },
      created_at: expect.stringMatching(/Z$/),
      created_by: expect.objectContaining({ uid: owner.uid, display_name: 'Olga Owner' }),
    });
    const shouted = ` ${guest.uid}@EXAMPLE.test `;
    expect((await ask(201, `POST /environments/${uid}/grants`, { user_email: shouted })).body).toEqual(first);
    const { body: second } = await ask(201, `POST /environments/${uid}/grants`, {
      team_uid: sharing.guestTeam,
      access: 'use',
    });
    expect(second).toMatchObject({ team_uid: sharing.guestTeam });
    expect(second).not.toHaveProperty('user');
    expect((await ask(200, `GET /environments/${uid}/grants`)).body).toEqual({ grants: [first, second] });
    await ask(204, `DELETE /environments/${uid}/grants/${first.uid}`);
    await ask(404, `DELETE /environments/${uid}/grants/${first.uid}`);
    expect((await ask(200, `GET /environments/${uid}/grants`)).body).toEqual({ grants: [second] });
  });

  it('list a shared environment once and masked, also when it was shared several times', async () => {
    const uid = await sharing.createEnvironment('team', { env: { TOKEN: 'swordfish' } });
    const both = await api.identities.user({ [fixture.team]: 'viewer', [sharing.guestTeam]: 'member' });
    await sharing.grant(uid, { user_uid: both.uid });
    await sharing.grant(uid, { team_uid: sharing.guestTeam });
    await sharing.redeemLink(200, both, (await sharing.createLink(uid)).token);
    expect((await listed(both)).filter((item) => item === uid)).toEqual([uid]);
    await sharing.grant(uid, { user_uid: guest.uid });
    const { body, text } = await api.request(200, `GET /environments/${uid}`, { token: guest.token });
    expect(body).toMatchObject({ config: { env: { TOKEN: '***' } }, scope: { type: 'Team', uid: fixture.team } });
    expect(text).not.toContain('swordfish');
  });

  it('to a team are listed when the header chooses that team', async () => {
    const uid = await sharing.createEnvironment('personal');
    await sharing.grant(uid, { team_uid: sharing.guestTeam });
    const other = await api.identities.team();
    const { token } = await api.identities.user({ [sharing.guestTeam]: 'viewer', [other]: 'admin' });
    const of = async (team: string) =>
      (await api.request(200, 'GET /agent/environments', { token, headers: { 'X-Headrace-Team-Uid': team } })).text;
    expect(await of(sharing.guestTeam)).toContain(uid);
    expect(await of(other)).not.toContain(uid);
  });

  it('by an address that is not verified are for members of a team of the caller only', async () => {
    const uid = await sharing.createEnvironment('team');
    const grant = (status: number, { uid: user }: TestPrincipal) =>
      ask(status, `POST /environments/${uid}/grants`, { user_email: `${user}@example.test` });
    const [stranger, colleague] = await Promise.all([
      api.identities.user({ [sharing.guestTeam]: 'member' }),
      api.identities.user({ [sharing.guestTeam]: 'member', [fixture.team]: 'viewer' }),
    ]);
    await api.database.query('UPDATE headrace.users SET is_email_verified = false WHERE uid = ANY($1)', [
      [stranger.uid, colleague.uid],
    ]);
    expect(pointersOf((await grant(400, stranger)).body)).toEqual(['/user_email']);
    await grant(201, colleague);
    await ask(201, `POST /environments/${uid}/grants`, { user_uid: stranger.uid });
  });

  it('rejects invalid fields with 400 and their names', async () => {
    const uid = await sharing.createEnvironment('personal');
    const teams = await sharing.createEnvironment('team');
    const refusals: [string, object, string][] = [
      [uid, {}, '/user_uid'],
      [uid, { user_uid: guest.uid, team_uid: sharing.guestTeam }, '/team_uid'],
      [uid, { user_uid: UNKNOWN_UID }, '/user_uid'],
      [uid, { user_uid: 'x' }, '/user_uid'],
      [uid, { user_email: 'nobody@example.test' }, '/user_email'],
      [uid, { user_email: ' ' }, '/user_email'],
      [uid, { team_uid: newUid() }, '/team_uid'],
      [uid, { user_uid: sharing.people.bot.uid }, '/user_uid'],
      [uid, { user_uid: guest.uid, access: 'own' }, '/access'],
      [uid, { user_uid: guest.uid, role: 'x' }, '/role'],
      [uid, { user_uid: owner.uid }, '/user_uid'],
      [teams, { team_uid: fixture.team }, '/team_uid'],
    ];
    for (const [environment, request, pointer] of refusals) {
      const { body } = await ask(400, `POST /environments/${environment}/grants`, request);
      expect([request, pointersOf(body)]).toEqual([request, [pointer]]);
    }
    expect((await ask(200, `GET /environments/${uid}/grants`)).body.grants).toEqual([]);
  });

  it('add at most 8 MiB to a list, of which one owner with many does not displace the others', async () => {
    const person = await api.identities.user();
    const [many, one] = [await api.identities.user(), await api.identities.user()];
    const shared = (await ask(201, 'POST /environments', { config: { name: 'zz' }, team: false }, one)).body.uid;
    await ask(201, `POST /environments/${shared}/grants`, { user_uid: person.uid }, one);
    await api.database.query(
      `WITH made AS (INSERT INTO environments (uid, owner_user_uid, config, creator_type, creator_uid, editor_type, editor_uid)
         SELECT 'L' || lpad(n::text, 21, '0'), $1, jsonb_build_object('name', 'a' || n, 'description', repeat('x', 260000)),
                'user', $1, 'user', $1 FROM generate_series(1, 35) n RETURNING uid)
       INSERT INTO environment_grants (uid, environment_uid, user_uid, creator_type, creator_uid)
         SELECT uid, uid, $2, 'user', $1 FROM made`,
      [many.uid, person.uid],
    );
    const mine = (await ask(201, 'POST /environments', { config: {}, team: false }, person)).body.uid;
    // One that is larger than a list, of an earlier version.
    await api.database.query(
      `UPDATE environments SET config = jsonb_build_object('name', 'a0', 'description', repeat('x', 9000000)) WHERE uid = $1`,
      [`L${'1'.padStart(21, '0')}`],
    );
    for (const sort of ['name', 'last_updated']) {
      const { body, text } = await ask(200, `GET /agent/environments?sort_by=${sort}`, undefined, person);
      const uids = body.environments.map(({ uid }: { uid: string }) => uid);
      expect(uids).toEqual(expect.arrayContaining([mine, shared]));
      expect(uids).toHaveLength(34);
      expect(text.length).toBeLessThan(8 * 1024 * 1024 + 50_000);
    }
  });

  it('are limited to 100, also for concurrent requests', async () => {
    const uid = await sharing.createEnvironment('personal');
    await api.database.query(
      `WITH people AS (INSERT INTO users (uid, email, display_name)
         SELECT lpad(to_hex(n), 22, '7'), to_hex(n) || '@many.test', 'One' FROM generate_series(1, 97) n RETURNING uid)
       INSERT INTO environment_grants (uid, environment_uid, user_uid, creator_type, creator_uid)
         SELECT reverse(p.uid), $1, p.uid, 'user', $2 FROM people p`,
      [uid, owner.uid],
    );
    const racers = await Promise.all(Array.from({ length: 8 }, () => api.identities.user()));
    const lock = `SELECT 1 FROM headrace.environments WHERE uid = '${uid}' FOR UPDATE`;
    const answers = await sendConcurrently(api, lock, () =>
      racers.map((racer) =>
        requestAnyStatus(api, `POST /environments/${uid}/grants`, {
          token: owner.token,
          body: { user_uid: racer.uid },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      error_code: 'limit_reached',
      detail: 'An environment can have at most 100 grants.',
    });
    expect((await ask(200, `GET /environments/${uid}/grants`)).body.grants).toHaveLength(100);
  });

  it('returns the documented error statuses', async () => {
    const uid = await sharing.createEnvironment('personal');
    for (const line of ['POST /environments/%20/grants', 'GET /environments/%20/grants'])
      await ask(400, line, line.startsWith('POST') ? { user_uid: guest.uid } : undefined);
    await ask(400, `DELETE /environments/${uid}/grants/%20`);
    await ask(404, `POST /environments/${UNKNOWN_UID}/grants`, { user_uid: guest.uid });
    await ask(404, `GET /environments/${UNKNOWN_UID}/grants`);
    await ask(404, `DELETE /environments/${UNKNOWN_UID}/grants/${UNKNOWN_UID}`);
    for (const path of ['grants', 'links']) {
      const line = `POST /environments/${uid}/${path}`;
      await api.request(413, line, { token: owner.token, contentType: 'application/json', body: OVERSIZED_BODY });
      await api.request(415, line, { token: owner.token, contentType: 'text/plain', body: 'x' });
    }
  });
});

describe('links', () => {
  it('return their token once, and store only its digest', async () => {
    const uid = await sharing.createEnvironment('personal');
    const { body: made } = await ask(201, `POST /environments/${uid}/links`);
    expect(made).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      token: expect.stringMatching(/^hrl_[A-Za-z0-9]{43}$/),
      url: `https://runs.example/environments/shared#${made.token}`,
      uses: 0,
      created_at: expect.stringMatching(/Z$/),
      created_by: expect.objectContaining({ uid: owner.uid }),
    });
    const { body, text } = await ask(200, `GET /environments/${uid}/links`);
    const { token, url: _url, ...shown } = made;
    expect(body).toEqual({ links: [shown] });
    expect(text).not.toContain(token);
    const rows = await api.database.query<{ token_hash: Buffer }>(
      'SELECT token_hash FROM environment_links WHERE uid = $1',
      [made.uid],
    );
    expect(rows.map(({ token_hash }) => token_hash.toString('hex'))).toEqual([
      createHash('sha256').update(token).digest('hex'),
    ]);
    await sharing.redeemLink(200, guest, token);
    expect(api.log.text).not.toContain(token);
  });

  it('list the environment for users who redeem them, until they are revoked', async () => {
    const uid = await sharing.createEnvironment('personal', { env: { TOKEN: 'swordfish' } });
    const holder = await api.identities.user();
    const [one, two] = [await sharing.createLink(uid), await sharing.createLink(uid)];
    const { body, text } = await sharing.redeemLink(200, holder, one.token);
    expect(body).toMatchObject({ uid, scope: { type: 'User', uid: owner.uid } });
    expect(text).not.toContain('swordfish');
    expect((await sharing.redeemLink(200, holder, ` ${one.token}\n`)).body.uid).toBe(uid);
    await sharing.redeemLink(200, holder, two.token);
    const { links } = (await ask(200, `GET /environments/${uid}/links`)).body;
    expect(links.map(({ uses }: { uses: number }) => uses)).toEqual([1, 1]);
    expect(await listed(holder)).toEqual([uid]);
    await ask(204, `DELETE /environments/${uid}/links/${one.uid}`);
    expect(await listed(holder)).toEqual([uid]);
    await ask(204, `DELETE /environments/${uid}/links/${two.uid}`);
    await ask(404, `DELETE /environments/${uid}/links/${two.uid}`);
    expect(await listed(holder)).toEqual([]);
    await api.request(403, `GET /environments/${uid}`, { token: holder.token });
  });

  it('return the same 404 when they are unknown, malformed, expired, revoked or used up', async () => {
    const uid = await sharing.createEnvironment('personal');
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const expired = await sharing.createLink(uid, { expires_at: soon });
    const early = await api.identities.user();
    await sharing.redeemLink(200, early, expired.token);
    const full = await sharing.createLink(uid, { max_uses: 1 });
    await sharing.redeemLink(200, early, full.token);
    const revoked = await sharing.createLink(uid);
    await ask(204, `DELETE /environments/${uid}/links/${revoked.uid}`);
    const gone = await sharing.createEnvironment('personal');
    const deleted = await sharing.createLink(gone);
    await ask(204, `DELETE /environments/${gone}`);
    await api.advanceClock(3_600_001);
    const reported = new Set<string>();
    for (const token of [`hrl_${'0'.repeat(43)}`, 'x', expired, full, revoked, deleted]) {
      const { body } = await sharing.redeemLink(404, guest, typeof token === 'string' ? token : token.token);
      reported.add(JSON.stringify({ ...body, trace_id: null }));
    }
    expect(reported.size).toBe(1);
    // A user who has redeemed them in time keeps the access.
    expect(await listed(early)).toEqual([uid]);
    await sharing.redeemLink(200, early, full.token);
  });

  it('are redeemed by max_uses users at most, also for concurrent requests', async () => {
    const uid = await sharing.createEnvironment('personal');
    const { uid: linkUid, token } = await sharing.createLink(uid, { max_uses: 3 });
    const people = await Promise.all(Array.from({ length: 6 }, () => api.identities.user()));
    const lock = `SELECT 1 FROM headrace.environment_links WHERE uid = '${linkUid}' FOR UPDATE`;
    const answers = await sendConcurrently(api, lock, () =>
      people.map((person) =>
        requestAnyStatus(api, 'POST /environments/links/redeem', { token: person.token, body: { token } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 404, 404, 404]);
    expect((await ask(200, `GET /environments/${uid}/links`)).body.links).toMatchObject([{ uses: 3, max_uses: 3 }]);
  });

  it('are not used up by users who manage the environment', async () => {
    const uid = await sharing.createEnvironment('team');
    const { token } = await sharing.createLink(uid, { max_uses: 1 });
    await sharing.redeemLink(200, owner, token);
    await sharing.redeemLink(200, sharing.people.admin, token);
    await sharing.redeemLink(200, guest, token);
  });

  it('cannot be redeemed by service accounts', async () => {
    const { token } = await sharing.createLink(await sharing.createEnvironment('personal'));
    const { body } = await sharing.redeemLink(403, sharing.people.guestBot, token);
    expect(body.detail).toContain('granted to your team');
  });

  it('are limited to 20, expired ones included', async () => {
    const uid = await sharing.createEnvironment('personal');
    await api.database.query(
      `INSERT INTO environment_links (uid, environment_uid, token_hash, expires_at, creator_type, creator_uid)
       SELECT lpad(n::text, 22, 'L'), $1, sha256(($1 || n)::bytea), headrace.now() - interval '1 day', 'user', $2 FROM generate_series(1, 18) n`,
      [uid, owner.uid],
    );
    const lock = `SELECT 1 FROM headrace.environments WHERE uid = '${uid}' FOR UPDATE`;
    const answers = await sendConcurrently(api, lock, () =>
      Array.from({ length: 5 }, () =>
        requestAnyStatus(api, `POST /environments/${uid}/links`, { token: owner.token, body: {} }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({ error_code: 'limit_reached' });
    await ask(204, `DELETE /environments/${uid}/links/${'1'.padStart(22, 'L')}`);
    await sharing.createLink(uid);
  });

  it('400: names the field', async () => {
    const uid = await sharing.createEnvironment('personal');
    const refusals: [object, string][] = [
      [{ expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
      [{ expires_at: 'tomorrow' }, '/expires_at'],
      [{ max_uses: 0 }, '/max_uses'],
      [{ max_uses: 1001 }, '/max_uses'],
      [{ max_uses: '1' }, '/max_uses'],
      [{ name: 'x' }, '/name'],
    ];
    for (const [request, pointer] of refusals) {
      const { body } = await ask(400, `POST /environments/${uid}/links`, request);
      expect([request, pointersOf(body)]).toEqual([request, [pointer]]);
    }
    for (const request of [{}, { token: 7 }, { token: ' ' }, { token: 'x'.repeat(201) }])
      expect(pointersOf((await ask(400, 'POST /environments/links/redeem', request)).body)).toEqual(['/token']);
  });

  it('answers the statuses that it documents', async () => {
    await ask(400, 'POST /environments/%20/links');
    await ask(400, 'GET /environments/%20/links');
    await ask(400, `DELETE /environments/${UNKNOWN_UID}/links/%20`);
    await ask(404, `POST /environments/${UNKNOWN_UID}/links`, {});
    await ask(404, `GET /environments/${UNKNOWN_UID}/links`);
    await ask(404, `DELETE /environments/${UNKNOWN_UID}/links/${UNKNOWN_UID}`);
    const line = 'POST /environments/links/redeem';
    await api.request(413, line, { token: owner.token, contentType: 'application/json', body: OVERSIZED_BODY });
    await api.request(415, line, { token: owner.token, contentType: 'text/plain', body: 'x' });
  });
});

describe('guests', () => {
  it('revoke their own grants, and list no others', async () => {
    const uid = await sharing.createEnvironment('personal');
    const home = await api.identities.team();
    const [own, other] = [
      await api.identities.user({ [home]: 'member' }),
      await api.identities.user({ [home]: 'member' }),
    ];
    const mine = await sharing.grant(uid, { user_uid: own.uid });
    const theirs = await sharing.grant(uid, { user_uid: other.uid });
    const { grants } = (await ask(200, `GET /environments/${uid}/grants`, undefined, own)).body;
    expect(grants).toMatchObject([{ uid: mine, user: { uid: own.uid } }]);
    await sharing.createLink(uid);
    expect((await ask(200, `GET /environments/${uid}/links`, undefined, own)).body).toEqual({ links: [] });
    for (const grantUid of [theirs, newUid()])
      await ask(403, `DELETE /environments/${uid}/grants/${grantUid}`, undefined, own);
    await ask(204, `DELETE /environments/${uid}/grants/${mine}`, undefined, own);
    await ask(403, `DELETE /environments/${uid}/grants/${mine}`, undefined, own);
    await ask(403, `GET /environments/${uid}/grants`, undefined, own);
    expect(await listed(own)).toEqual([]);
    const run = { prompt: 'Go.', team: false, config: { environment_id: uid } };
    await ask(403, 'POST /agent/runs', run, own);
    await ask(200, 'POST /agent/runs', run, other);
    expect((await ask(200, `GET /environments/${uid}/grants`)).body.grants).toMatchObject([{ uid: theirs }]);
  });

  it('revoke a grant of their team when they manage its environments', async () => {
    const uid = await sharing.createEnvironment('team');
    const admin = await api.identities.user({ [sharing.guestTeam]: 'admin' });
    const otherAdmin = await api.identities.user({ [await api.identities.team('Others')]: 'admin' });
    const grantUid = await sharing.grant(uid, { team_uid: sharing.guestTeam });
    const line = `DELETE /environments/${uid}/grants/${grantUid}`;
    for (const by of [sharing.people.guestTeam, sharing.people.guestBot, otherAdmin])
      await ask(403, line, undefined, by);
    const { body } = await ask(200, `GET /environments/${uid}/grants`, undefined, sharing.people.guestTeam);
    expect(body).toEqual({ grants: [] });
    await ask(403, `GET /environments/${uid}/grants`, undefined, otherAdmin);
    const { grants } = (await ask(200, `GET /environments/${uid}/grants`, undefined, admin)).body;
    expect(grants).toMatchObject([{ uid: grantUid, team_uid: sharing.guestTeam }]);
    await ask(204, line, undefined, admin);
    expect(await listed(sharing.people.guestTeam)).not.toContain(uid);
  });

  it('revoke the access from a link for themselves only, and the use still counts', async () => {
    const uid = await sharing.createEnvironment('personal');
    const [own, other] = [await api.identities.user(), await api.identities.user()];
    const shared = await sharing.createLink(uid, { max_uses: 3 });
    const unseen = await sharing.createLink(uid);
    for (const person of [own, other]) await sharing.redeemLink(200, person, shared.token);
    const { body, text } = await ask(200, `GET /environments/${uid}/links`, undefined, own);
    expect(body.links).toMatchObject([{ uid: shared.uid, uses: 2, max_uses: 3 }]);
    expect(text).not.toContain(shared.token);
    await ask(403, `DELETE /environments/${uid}/links/${unseen.uid}`, undefined, own);
    await ask(204, `DELETE /environments/${uid}/links/${shared.uid}`, undefined, own);
    await ask(403, `DELETE /environments/${uid}/links/${shared.uid}`, undefined, own);
    expect([await listed(own), await listed(other)]).toEqual([[], [uid]]);
    // They may come back while there is fixture.
    await sharing.redeemLink(200, own, shared.token);
    await sharing.redeemLink(404, await api.identities.user(), shared.token);
    expect((await ask(200, `GET /environments/${uid}/links`)).body.links).toMatchObject([{ uses: 3 }, { uses: 0 }]);
    await ask(403, `DELETE /environments/${uid}/links/${shared.uid}`, undefined, sharing.people.guestBot);
  });
});

it('grants and links are deleted with their environment', async () => {
  const uid = await sharing.createEnvironment('personal');
  await sharing.grant(uid, { team_uid: sharing.guestTeam });
  await sharing.redeemLink(200, guest, (await sharing.createLink(uid)).token);
  await ask(204, `DELETE /environments/${uid}`);
  for (const table of ['environment_grants', 'environment_links', 'environment_link_holders'])
    expect(await api.database.query(`SELECT 1 FROM ${table} WHERE environment_uid = $1`, [uid])).toEqual([]);
  expect(await listed(guest)).not.toContain(uid);
});
