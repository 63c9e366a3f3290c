import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, webhooksOf } from '../../support/api-fixture.js';
import { OVERSIZED_BODY, pointersOf, requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';

const TOKEN = /^[A-Za-z0-9]{43}$/;
const INGRESS = 'https://in.example.com/webhooks/w';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.createFactory();
});
afterAll(() => fixture.close());

const get = async (uid: string, factory: string) =>
  (await fixture.request(200, `GET ${webhooksOf(factory)}/${uid}`, { token: fixture.admin.token })).body;
const putSecret = (name: string, value: string) =>
  fixture.request(200, `PUT /secrets/${name}`, { token: fixture.admin.token, body: { value } });

describe('createWebhook', () => {
  it('returns a generated token only once by default', async () => {
    const factory = await fixture.createFactory();
    const body = await fixture.createWebhook({ name: 'deploys' }, factory);
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: 'deploys',
      auth_mode: 'token',
      secret_name: `webhook-${body.uid}`,
      enabled: true,
      ingress_url: `${INGRESS}/${body.uid}`,
      source: 'api',
      secret: expect.stringMatching(TOKEN),
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    const { secret, ...shown } = body;
    expect(await get(body.uid, factory)).toEqual(shown);
    expect(await fixture.webhooks.stored(body.uid)).toMatchObject({ version: 1, secret, secretVersion: 1 });
    const [rate] = await fixture.database.query(
      'SELECT r.head FROM webhook_rates r JOIN webhooks w ON w.id = r.webhook_id WHERE w.uid = $1',
      [body.uid],
    );
    expect(rate).toEqual({ head: 0 });
  });

  it('stores the secret encrypted, and does not log it', async () => {
    const { uid, secret } = await fixture.createWebhook();
    const rows = await fixture.database.query<{ text: string }>(
      `SELECT row_to_json(w)::text AS text FROM webhooks w WHERE uid = $1
       UNION ALL SELECT row_to_json(s)::text FROM managed_secrets s WHERE name = 'webhook-' || $1`,
      [uid],
    );
    expect(rows).toHaveLength(2);
    expect(rows.filter(({ text }) => text.includes(secret))).toEqual([]);
    expect(fixture.api.log.text).not.toContain(secret);
  });

  it('returns the token of url_token in the URL only once, and a placeholder afterwards', async () => {
    const factory = await fixture.createFactory();
    const { uid, ingress_url: url, secret } = await fixture.createWebhook({ auth_mode: 'url_token' }, factory);
    expect(secret).toMatch(TOKEN);
    expect(url).toBe(`${INGRESS}/${uid}/${secret}`);
    const shown = await get(uid, factory);
    expect(shown).toMatchObject({ ingress_url: `${INGRESS}/${uid}/{token}` });
    expect(shown).not.toHaveProperty('secret');
    const { body: list } = await fixture.request(200, `GET ${webhooksOf(factory)}`, { token: fixture.admin.token });
    expect(list).toEqual({ webhooks: [shown] });
  });

  it('accepts the sender’s secret for signature, and generates one only for Standard Webhooks', async () => {
    const given = await fixture.createWebhook({
      auth_mode: 'signature',
      signature_scheme: 'github',
      secret: 'swordfish',
    });
    expect(given).toMatchObject({ signature_scheme: 'github', enabled: true, secret: 'swordfish' });
    expect(given).not.toHaveProperty('secret_missing');
    expect(await fixture.webhooks.stored(given.uid)).toMatchObject({ secret: 'swordfish' });
    const made = await fixture.createWebhook({ auth_mode: 'signature', signature_scheme: 'standard_webhooks' });
    expect(made).toMatchObject({ enabled: true, secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
  });

  it('creates a webhook without the sender’s secret as disabled', async () => {
    const body = await fixture.createWebhook({ auth_mode: 'signature', signature_scheme: 'github' });
    expect(body).toMatchObject({ enabled: false, secret_missing: true });
    expect(body).not.toHaveProperty('secret');
    expect(body).not.toHaveProperty('secret_pending');
  });

  it.each(['asana', 'notion'])('waits for the secret in the handshake of %s', async (scheme) => {
    const body = await fixture.createWebhook({ auth_mode: 'signature', signature_scheme: scheme });
    expect(body).toMatchObject({ enabled: true, secret_pending: true });
    expect(body).not.toHaveProperty('secret_missing');
    const off = await fixture.createWebhook({ auth_mode: 'signature', signature_scheme: scheme, enabled: false });
    expect(off).toMatchObject({ enabled: false, secret_pending: true });
    const known = await fixture.createWebhook({
      auth_mode: 'signature',
      signature_scheme: scheme,
      secret: 'known-before',
    });
    expect(known).toMatchObject({ enabled: true, secret: 'known-before' });
    expect(known).not.toHaveProperty('secret_pending');
  });

  it('uses an existing managed secret, and does not return it', async () => {
    await putSecret('shared', 'URL-safe_~.value');
    const body = await fixture.createWebhook(
      { auth_mode: 'url_token', secret_name: 'shared' },
      await fixture.createFactory(),
    );
    expect(body).toMatchObject({ secret_name: 'shared', ingress_url: `${INGRESS}/${body.uid}/{token}` });
    expect(JSON.stringify(body)).not.toContain('URL-safe');
    expect(await fixture.webhooks.stored(body.uid)).toMatchObject({ secret: 'URL-safe_~.value', secretVersion: 1 });
  });

  it('stores the delivery id header in lower case, and creates a disabled webhook', async () => {
    const body = await fixture.createWebhook({ delivery_id_header: 'X-Event-ID', enabled: false });
    expect(body).toMatchObject({ delivery_id_header: 'x-event-id', enabled: false });
    expect(await fixture.createWebhook({ delivery_id_header: null })).not.toHaveProperty('delivery_id_header');
  });

  const SIGNED = { auth_mode: 'signature', signature_scheme: 'github' };
  it.each<[object, string]>([
    [{ name: ' ' }, '/name'],
    [{ name: 'x'.repeat(201) }, '/name'],
    [{ name: 5 }, '/name'],
    [{ auth_mode: 'basic' }, '/auth_mode'],
    [{ colour: 'red' }, '/colour'],
    [{ enabled: 'yes' }, '/enabled'],
    [{ secret: 'mine' }, '/secret'],
    [{ auth_mode: 'url_token', secret: 'mine' }, '/secret'],
    [{ ...SIGNED, secret: ' ' }, '/secret'],
    [{ ...SIGNED, secret: '\u200b' }, '/secret'],
    [{ ...SIGNED, secret: '' }, '/secret'],
    [{ ...SIGNED, secret: 'a\0b' }, '/secret'],
    [{ ...SIGNED, secret: 'x'.repeat(65_537) }, '/secret'],
    [{ ...SIGNED, signature_scheme: 'standard_webhooks', secret: 'whsec_no' }, '/secret'],
    [{ ...SIGNED, secret: 'mine', secret_name: 'too' }, '/secret'],
    [{ auth_mode: 'signature' }, '/signature_scheme'],
    [{ auth_mode: 'signature', secret: 'mine' }, '/signature_scheme'],
    [{ signature_scheme: 'github' }, '/signature_scheme'],
    [{ auth_mode: 'signature', signature_scheme: 'GitHub' }, '/signature_scheme'],
    [{ auth_mode: 'signature', signature_scheme: '__proto__' }, '/signature_scheme'],
    [{ secret_name: 'nowhere' }, '/secret_name'],
    [{ secret_name: '../etc' }, '/secret_name'],
    [{ secret_name: '' }, '/secret_name'],
    [{ delivery_id_header: 'two words' }, '/delivery_id_header'],
    [{ delivery_id_header: 'x-é' }, '/delivery_id_header'],
    [{ delivery_id_header: '' }, '/delivery_id_header'],
    [{ delivery_id_header: 'x'.repeat(129) }, '/delivery_id_header'],
    [{ delivery_id_header: 'Authorization' }, '/delivery_id_header'],
    [{ delivery_id_header: 'COOKIE' }, '/delivery_id_header'],
    [{ delivery_id_header: 'Proxy-Authorization' }, '/delivery_id_header'],
    [{ delivery_id_header: 'Content-Length' }, '/delivery_id_header'],
    [{ ...SIGNED, delivery_id_header: 'X-Hub-Signature-256' }, '/delivery_id_header'],
  ])('400: %j', async (fields, pointer) => {
    const body = { name: 'wrong', ...fields };
    const answer = await fixture.request(400, `POST ${webhooksOf(fixture.factory)}`, {
      token: fixture.admin.token,
      body,
    });
    expect(pointersOf(answer.body)).toEqual([pointer]);
    expect(answer.body.detail).toContain(`\`${pointer.slice(1)}\``);
    expect(answer.text).not.toContain('mine');
  });

  it('rejects with 400, a suggestion for the scheme, and all errors at once', async () => {
    const body = { name: 'x', auth_mode: 'signature', signature_scheme: 'githib', delivery_id_header: 'cookie' };
    const answer = await fixture.request(400, `POST ${webhooksOf(fixture.factory)}`, {
      token: fixture.admin.token,
      body,
    });
    expect(pointersOf(answer.body)).toEqual(['/signature_scheme', '/delivery_id_header']);
    expect(answer.body.detail).toContain('did you mean github');
  });

  it.each([
    ['url_token', 'not url/safe', 'URL'],
    ['url_token', '..', 'URL'],
    ['token', 'not for a\nheader', 'header'],
  ])('does not accept for %s the managed secret %j: 400', async (mode, value, because) => {
    await putSecret('unusable', value);
    const factory = await fixture.createFactory();
    const body = { name: 'x', auth_mode: mode, secret_name: 'unusable' };
    const answer = await fixture.request(400, `POST ${webhooksOf(factory)}`, { token: fixture.admin.token, body });
    expect(pointersOf(answer.body)).toEqual(['/secret_name']);
    expect(answer.body.detail).toContain(because);
    expect(answer.text).not.toContain(value);
  });

  it('rejects a large body with 413, and another media type with 415', async () => {
    const { token } = fixture.admin;
    const line = `POST ${webhooksOf(fixture.factory)}`;
    await fixture.request(413, line, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await fixture.request(415, line, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('the limit of webhooks per factory', () => {
  it('accepts 20 of 30 concurrent requests, keeps no secret of the others, and accepts one after a deletion', async () => {
    const { api, admin } = fixture;
    const factory = await fixture.createFactory();
    const request = { token: admin.token, body: { name: 'racer' } };
    const lock = 'LOCK TABLE headrace.webhook_counts IN SHARE ROW EXCLUSIVE MODE';
    const answers = await sendConcurrently(api, lock, () =>
      Array.from({ length: 30 }, () => requestAnyStatus(api, `POST ${webhooksOf(factory)}`, request)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(20);
    const codes = answers.filter(({ status }) => status === 403).map(({ body }) => body.error_code);
    expect(codes).toEqual(Array.from({ length: 10 }, () => 'limit_reached'));
    const [counted] = await api.database.query(
      `SELECT (SELECT webhooks FROM webhook_counts WHERE factory_uid = $1) AS counter,
         (SELECT count(*)::int FROM webhooks WHERE factory_uid = $1) AS webhooks,
         (SELECT count(*)::int FROM managed_secrets s WHERE s.name LIKE 'webhook-%'
            AND NOT EXISTS (SELECT FROM webhooks w WHERE w.secret_name = s.name)) AS orphans`,
      [factory],
    );
    expect(counted).toEqual({ counter: 20, webhooks: 20, orphans: 0 });
    await api.request(204, `DELETE ${webhooksOf(factory)}/${made[0]?.body.uid}`, { token: admin.token });
    await fixture.createWebhook({}, factory);
    await api.request(403, `POST ${webhooksOf(factory)}`, request);
  });

  it('does not count rejected requests', async () => {
    const factory = await fixture.createFactory();
    const body = { name: 'x', secret_name: 'nowhere' };
    await fixture.request(400, `POST ${webhooksOf(factory)}`, { token: fixture.admin.token, body });
    const rows = await fixture.database.query('SELECT webhooks FROM webhook_counts WHERE factory_uid = $1', [factory]);
    expect(rows).toEqual([{ webhooks: 0 }]);
  });
});
