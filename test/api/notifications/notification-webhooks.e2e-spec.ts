import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  inTeam,
  OVERSIZED_BODY,
  pointersOf,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_UID,
} from '../../support/api-requests.js';
import { NOTIFICATION_WEBHOOKS } from './webhook-receiver.js';

const URL = 'https://hooks.example.com/secret-path?key=k';
const ENDED_OR_BLOCKED = ['run.succeeded', 'run.failed', 'run.errored', 'run.cancelled', 'run.blocked'];

let api: TestApi;
let fixture: ApiFixture;

beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
});
afterAll(() => api.close());

const newTeam = async () => {
  const team = await api.identities.team();
  return { team, token: (await api.identities.user({ [team]: 'owner' })).token };
};
const make = async (token: string, fields: object = {}) =>
  (await api.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body: { name: 'hook', url: URL, ...fields } }))
    .body;

describe('createNotificationWebhook', () => {
  it('201: tells the secret once, seals it at rest, and has defaults', async () => {
    const { token } = fixture.admin;
    const body = await make(token);
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: 'hook',
      url: URL,
      format: 'json',
      events: ENDED_OR_BLOCKED,
      enabled: true,
      decisions: false,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    const found = await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${body.uid}`, { token });
    expect(found.body).toEqual({ ...body, secret: '***' });
    const rows = await api.database.query<{ text: string }>(
      'SELECT row_to_json(w)::text AS text FROM notification_webhooks w WHERE uid = $1',
      [body.uid],
    );
    expect(rows[0]?.text).toContain('hooks.example.com');
    expect(rows[0]?.text).not.toContain(body.secret.slice('whsec_'.length));
  });

  it('201: has the format of the service at the URL, or the one that the request names', async () => {
    const { token } = fixture.admin;
    const url = 'https://hooks.slack.com/services/T/B/x';
    const { uid, format } = await make(token, { url });
    expect(format).toBe('slack');
    expect((await make(token, { url, format: 'json' })).format).toBe('json');
    const body = { url: 'https://discord.com/api/webhooks/1/x' };
    const change = async (fields: object) =>
      (await api.request(200, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, { token, body: fields })).body.format;
    expect(await change(body)).toBe('slack');
    expect(await change({ format: 'discord' })).toBe('discord');
    const refused = await api.request(400, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, { token, body: { format: 'irc' } });
    expect(pointersOf(refused.body)).toEqual(['/format']);
  });

  const wrongUrls = [
    'hooks.example.com',
    'http://hooks.example.com/',
    'https:hooks.example.com',
    'https://user:pass@hooks.example.com/',
    'https://hooks.example.com/#part',
    'https://hooks.example.com\\@10.0.0.1/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost:8443/',
    'https://8.8.8.8:0/',
    'https://api.localhost./',
    `https://hooks.example.com/${'x'.repeat(2048)}`,
  ];
  it.each<[object, string]>([
    [{ name: ' ' }, '/name'],
    [{ events: [] }, '/events'],
    [{ events: ['run.started'] }, '/events/0'],
    [{ enabled: 'yes' }, '/enabled'],
    [{ colour: 'red' }, '/colour'],
    ...wrongUrls.map((url): [object, string] => [{ url }, '/url']),
  ])('400: %j', async (fields, pointer) => {
    const body = { name: 'wrong', url: URL, ...fields };
    const answer = await api.request(400, `POST ${NOTIFICATION_WEBHOOKS}`, { token: fixture.admin.token, body });
    expect(pointersOf(answer.body)).toEqual([pointer]);
  });

  it('rejects a request without a chosen team with 400, a large body with 413 and another type with 415', async () => {
    const body = { name: 'hook', url: URL };
    const { token } = fixture.adminOfBoth;
    const nowhere = await api.request(400, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body });
    expect(nowhere.body.detail).toContain('X-Headrace-Team-Uid');
    await api.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body, headers: inTeam(fixture.otherTeam) });
    await api.request(413, `POST ${NOTIFICATION_WEBHOOKS}`, {
      token,
      body: OVERSIZED_BODY,
      contentType: 'application/json',
    });
    await api.request(415, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body: '{}', contentType: 'text/plain' });
  });

  it('rejects the 21st webhook of a team with 403 limit_reached, also for concurrent requests', async () => {
    const { team, token } = await newTeam();
    for (let made = 0; made < 18; made += 1) await make(token);
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended('headrace.notification_webhooks/${team}', 0))`;
    const answers = await sendConcurrently(api, lock, () =>
      Array.from({ length: 4 }, () =>
        requestAnyStatus(api, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body: { name: 'n', url: URL } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403]);
    const refused = answers.filter(({ status }) => status === 403);
    expect(refused.map(({ body }) => body.error_code)).toEqual(['limit_reached', 'limit_reached']);
  });
});

describe('listNotificationWebhooks', () => {
  it('returns the webhooks of the team by name, and 403 for a team of others', async () => {
    const { token } = await newTeam();
    for (const name of ['beta', 'Alpha']) await make(token, { name });
    const { body } = await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}`, { token });
    expect(body.notification_webhooks.map(({ name }: { name: string }) => name)).toEqual(['Alpha', 'beta']);
    await api.request(403, `GET ${NOTIFICATION_WEBHOOKS}`, { token, headers: inTeam(fixture.team) });
  });
});

describe('updateNotificationWebhook', () => {
  it('updates the given fields, and sorts the events', async () => {
    const { token } = fixture.admin;
    const { uid } = await make(token);
    const put = async (body: object) =>
      (await api.request(200, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, { token, body })).body;
    expect(await put({ events: ['run.blocked', 'run.failed', 'run.blocked'] })).toMatchObject({
      name: 'hook',
      url: URL,
      events: ['run.failed', 'run.blocked'],
      enabled: true,
      secret: '***',
    });
    expect(await put({ enabled: false, name: 'other' })).toMatchObject({ name: 'other', enabled: false });
    expect(await put({})).toMatchObject({ name: 'other', enabled: false, events: ['run.failed', 'run.blocked'] });
  });

  it('rejects invalid fields with 400, an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const { token } = fixture.admin;
    const { uid } = await make(token);
    const bad = await api.request(400, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, {
      token,
      body: { url: 'https://10.0.0.1/' },
    });
    expect(pointersOf(bad.body)).toEqual(['/url']);
    await api.request(404, `PUT ${NOTIFICATION_WEBHOOKS}/${UNKNOWN_UID}`, { token, body: {} });
    await api.request(413, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, {
      token,
      body: OVERSIZED_BODY,
      contentType: 'application/json',
    });
    await api.request(415, `PUT ${NOTIFICATION_WEBHOOKS}/${uid}`, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('rotateNotificationWebhookSecret', () => {
  it('returns a new secret only once', async () => {
    const { token } = fixture.admin;
    const { uid, secret } = await make(token);
    const { body } = await api.request(200, `POST ${NOTIFICATION_WEBHOOKS}/${uid}/rotate-secret`, { token });
    expect(body.secret).toMatch(/^whsec_/);
    expect(body.secret).not.toBe(secret);
    const found = await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${uid}`, { token });
    expect(found.body.secret).toBe('***');
  });
});

describe('deleteNotificationWebhook', () => {
  it('deletes the webhook with 204', async () => {
    const { token } = fixture.admin;
    const { uid } = await make(token);
    await api.request(202, `POST ${NOTIFICATION_WEBHOOKS}/${uid}/test`, { token });
    await api.request(204, `DELETE ${NOTIFICATION_WEBHOOKS}/${uid}`, { token });
    await api.request(404, `GET ${NOTIFICATION_WEBHOOKS}/${uid}`, { token });
    await api.request(404, `DELETE ${NOTIFICATION_WEBHOOKS}/${uid}`, { token });
    expect(await api.database.query('SELECT 1 FROM notification_deliveries WHERE webhook_uid = $1', [uid])).toEqual([]);
  });
});

describe('authorization', () => {
  const ALL = (uid: string) =>
    [
      ['PUT', uid, 200],
      ['POST', `${uid}/rotate-secret`, 200],
      ['POST', `${uid}/test`, 202],
      ['DELETE', uid, 204],
    ] as const;
  const body = (method: string) => (method === 'PUT' ? { body: {} } : {});

  it.each(['owner', 'admin', 'adminOfBoth'] as const)('%s manages notification webhooks', async (who) => {
    const { token } = fixture[who];
    const { uid } = await make(fixture.admin.token);
    for (const [method, path, status] of ALL(uid))
      await api.request(status, `${method} ${NOTIFICATION_WEBHOOKS}/${path}`, { token, ...body(method) });
  });

  it.each(['member', 'viewer', 'bot'] as const)(
    '%s reads notification webhooks without the path of the URL',
    async (who) => {
      const { token } = fixture[who];
      const { uid } = await make(fixture.admin.token);
      const { body: shown } = await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${uid}`, { token });
      expect(shown).toMatchObject({ url: 'https://hooks.example.com/***', secret: '***' });
      const { text } = await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}`, { token });
      expect(text).toContain(uid);
      expect(text).not.toContain('secret-path');
      await api.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${uid}/deliveries`, { token });
      await api.request(403, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body: { name: 'no', url: URL } });
      for (const [method, path] of ALL(uid))
        await api.request(403, `${method} ${NOTIFICATION_WEBHOOKS}/${path}`, { token, ...body(method) });
    },
  );

  it('rejects a principal of another team with 403, an unknown uid with 404, and a blank one with 400', async () => {
    const { uid } = await make(fixture.admin.token);
    const every = (of: string) => [...ALL(of), ['GET', of, 200], ['GET', `${of}/deliveries`, 200]] as const;
    for (const [of, status, token] of [
      [uid, 403, fixture.stranger.token],
      [UNKNOWN_UID, 404, fixture.admin.token],
      ['%20', 400, fixture.admin.token],
    ] as const) {
      for (const [method, path] of every(of))
        await api.request(status, `${method} ${NOTIFICATION_WEBHOOKS}/${path}`, { token, ...body(method) });
    }
  });
});
