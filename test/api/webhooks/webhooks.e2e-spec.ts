import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, webhooksOf } from '../../support/api-fixture.js';
import { inTeam, OVERSIZED_BODY, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.createFactory();
});
afterAll(() => fixture.close());

const pathOf = (uid: string, factory = fixture.factory): string => `${webhooksOf(factory)}/${uid}`;
const patch = async (uid: string, body: object, status = 200) =>
  (await fixture.request(status, `PATCH ${pathOf(uid)}`, { token: fixture.admin.token, body })).body;
/** A factory has 20 places. */
const drop = (uid: string) => fixture.request(204, `DELETE ${pathOf(uid)}`, { token: fixture.admin.token });

describe('listWebhooks', () => {
  it('returns the webhooks of the factory by name', async () => {
    const factory = await fixture.createFactory();
    for (const name of ['beta', 'Alpha', 'gamma']) await fixture.createWebhook({ name }, factory);
    const other = await fixture.createWebhook({ name: 'other' });
    const { body, text } = await fixture.request(200, `GET ${webhooksOf(factory)}`, { token: fixture.admin.token });
    expect(body.webhooks.map(({ name }: { name: string }) => name)).toEqual(['Alpha', 'beta', 'gamma']);
    expect(text).not.toContain(other.uid);
    expect(text).not.toContain('"secret"');
    await drop(other.uid);
  });
});

describe('updateWebhook', () => {
  it('updates the given fields, and increments the version when deliveries depend on them', async () => {
    const { uid } = await fixture.createWebhook({ delivery_id_header: 'x-id' });
    expect(await patch(uid, { name: 'other' })).toMatchObject({
      name: 'other',
      enabled: true,
      delivery_id_header: 'x-id',
    });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 1 });
    expect(await patch(uid, { enabled: false })).toMatchObject({ name: 'other', enabled: false });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 2 });
    expect(await patch(uid, { delivery_id_header: 'X-Other' })).toMatchObject({ delivery_id_header: 'x-other' });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 3 });
    expect(await patch(uid, { delivery_id_header: null, enabled: true })).not.toHaveProperty('delivery_id_header');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 4, enabled: true });
    const before = await patch(uid, {});
    expect(before).toMatchObject({ name: 'other', enabled: true });
    expect(before).not.toHaveProperty('secret');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 4 });
    await drop(uid);
  });

  it.each<[object, string]>([
    [{ name: '' }, '/name'],
    [{ name: null }, '/name'],
    [{ enabled: null }, '/enabled'],
    [{ auth_mode: 'url_token' }, '/auth_mode'],
    [{ secret: 'mine' }, '/secret'],
    [{ delivery_id_header: 'cookie' }, '/delivery_id_header'],
    [{ delivery_id_header: 'X-Hub-Signature-256' }, '/delivery_id_header'],
  ])('400: %j', async (fields, pointer) => {
    const { uid } = await fixture.createWebhook();
    expect(pointersOf(await patch(uid, fields, 400))).toEqual([pointer]);
    await drop(uid);
  });

  it('rejects another name for a webhook of a definition with 422, and accepts other changes', async () => {
    const { uid } = await fixture.createWebhook({ name: 'from-a-file' });
    await fixture.webhooks.markAsDefined(uid);
    expect(await patch(uid, { name: 'other' }, 422)).toMatchObject({ error_code: 'operation_not_supported' });
    expect(await patch(uid, { name: 'from-a-file', enabled: false })).toMatchObject({
      source: 'definition',
      enabled: false,
    });
    await drop(uid);
  });

  it('rejects enabling a webhook without a secret with 422 and advice', async () => {
    const { uid } = await fixture.createWebhook({ auth_mode: 'signature', signature_scheme: 'github' });
    const answer = await patch(uid, { enabled: true }, 422);
    expect(answer).toMatchObject({ error_code: 'operation_not_supported' });
    expect(answer.detail).toContain('rotate-secret');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ enabled: false });
    await drop(uid);
  });

  it('rejects an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const { token } = fixture.admin;
    const { uid } = await fixture.createWebhook();
    await fixture.request(404, `PATCH ${pathOf(UNKNOWN_UID)}`, { token, body: {} });
    await fixture.request(413, `PATCH ${pathOf(uid)}`, {
      token,
      body: OVERSIZED_BODY,
      contentType: 'application/json',
    });
    await fixture.request(415, `PATCH ${pathOf(uid)}`, { token, body: '{}', contentType: 'text/plain' });
    await drop(uid);
  });
});

describe('deleteWebhook', () => {
  it('deletes the webhook and its secrets with 204, and keeps its log', async () => {
    const { token } = fixture.admin;
    const { uid } = await fixture.createWebhook();
    await fixture.database.query(
      `INSERT INTO webhook_deliveries (webhook_id, id, outcome, size_bytes, received_at, source_ip)
       SELECT id, gen_random_uuid(), 'U', 3, headrace.now(), '192.0.2.1' FROM webhooks WHERE uid = $1`,
      [uid],
    );
    await drop(uid);
    await fixture.request(404, `GET ${pathOf(uid)}`, { token });
    await fixture.request(404, `PATCH ${pathOf(uid)}`, { token, body: { name: 'x' } });
    await fixture.request(404, `POST ${pathOf(uid)}/rotate-secret`, { token });
    await fixture.request(404, `DELETE ${pathOf(uid)}`, { token });
    const { text } = await fixture.request(200, `GET ${webhooksOf(fixture.factory)}`, { token });
    expect(text).not.toContain(uid);
    expect(await fixture.webhooks.stored(uid)).toMatchObject({
      isDeleted: true,
      version: 2,
      secret: null,
      enabled: false,
    });
    const left = await fixture.database.query(
      `SELECT (SELECT count(*)::int FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE w.uid = $1) AS log,
         (SELECT count(*)::int FROM managed_secrets WHERE name = 'webhook-' || $1) AS secrets`,
      [uid],
    );
    expect(left).toEqual([{ log: 1, secrets: 0 }]);
  });

  it('keeps a managed secret that another webhook uses, and one that it did not create', async () => {
    const { token } = fixture.admin;
    await fixture.request(200, 'PUT /secrets/kept', { token, body: { value: 'kept' } });
    const named = await fixture.createWebhook({ secret_name: 'kept' });
    const owner = await fixture.createWebhook();
    const lodger = await fixture.createWebhook({ secret_name: owner.secret_name });
    await drop(named.uid);
    await drop(owner.uid);
    const { text } = await fixture.request(200, 'GET /secrets', { token });
    expect(text).toContain('"kept"');
    expect(text).toContain(owner.secret_name);
    expect(await fixture.webhooks.stored(lodger.uid)).toMatchObject({ secret: owner.secret });
    await drop(lodger.uid);
  });

  it('deletes once for concurrent requests', async () => {
    const { token } = fixture.admin;
    const factory = await fixture.createFactory();
    const { uid } = await fixture.createWebhook({}, factory);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        fetch(`${fixture.api.url}/api/v1${pathOf(uid, factory)}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${token}` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404, 404]);
    const rows = await fixture.database.query('SELECT webhooks FROM webhook_counts WHERE factory_uid = $1', [factory]);
    expect(rows).toEqual([{ webhooks: 0 }]);
  });
});

describe('listWebhookSignatureSchemes', () => {
  it('returns the schemes by id to every caller', async () => {
    for (const { token } of [fixture.viewer, fixture.bot, fixture.stranger, await fixture.api.identities.user()]) {
      const { body } = await fixture.request(200, 'GET /webhook-signature-schemes', { token });
      const ids = body.signature_schemes.map(({ id }: { id: string }) => id);
      expect(ids).toEqual([...ids].sort());
      expect(body.signature_schemes.find(({ id }: { id: string }) => id === 'github')).toEqual({
        id: 'github',
        label: 'GitHub',
        documentation_url: expect.stringMatching(/^https:\/\//),
        headers: ['x-hub-signature-256'],
        delivery_id_headers: ['x-github-delivery'],
      });
    }
  });

  it('rejects the header of a team of others with 403', async () => {
    await fixture.request(403, 'GET /webhook-signature-schemes', {
      token: fixture.stranger.token,
      headers: inTeam(fixture.team),
    });
  });
});

describe('authorization to manage webhooks', () => {
  const calls = (uid: string, factory: string) =>
    [
      ['GET', webhooksOf(factory), 200],
      ['POST', webhooksOf(factory), 201],
      ['GET', pathOf(uid, factory), 200],
      ['PATCH', pathOf(uid, factory), 200],
      ['POST', `${pathOf(uid, factory)}/rotate-secret`, 200],
      ['DELETE', pathOf(uid, factory), 204],
    ] as const;
  const bodyOf = (method: string, path: string): object =>
    method === 'PATCH' || (method === 'POST' && path.endsWith('/webhooks')) ? { body: { name: 'x' } } : {};

  it.each(['owner', 'admin', 'adminOfBoth'] as const)('%s manages webhooks', async (who) => {
    const factory = await fixture.createFactory();
    const { uid } = await fixture.createWebhook({}, factory);
    for (const [method, path, status] of calls(uid, factory))
      await fixture.request(status, `${method} ${path}`, { token: fixture[who].token, ...bodyOf(method, path) });
  });

  it.each(['member', 'viewer', 'bot'] as const)('%s gets 403', async (who) => {
    const { uid, secret } = await fixture.createWebhook({ auth_mode: 'url_token' });
    for (const [method, path] of calls(uid, fixture.factory)) {
      const answer = await fixture.request(403, `${method} ${path}`, {
        token: fixture[who].token,
        ...bodyOf(method, path),
      });
      expect(answer.body.error_code).toBe('not_authorized');
      expect(answer.text).not.toContain(secret);
    }
    await drop(uid);
  });

  it('returns the same 404 for another team’s and an unknown factory', async () => {
    const { uid } = await fixture.createWebhook();
    const theirs = await fixture.createFactory({ teamUid: fixture.otherTeam });
    for (const [method, path] of [...calls(uid, theirs), ...calls(uid, UNKNOWN_UID)]) {
      const { body } = await fixture.request(404, `${method} ${path}`, {
        token: fixture.admin.token,
        ...bodyOf(method, path),
      });
      expect(body.detail).toBe('Factory not found.');
    }
    for (const [method, path] of calls(uid, fixture.factory))
      await fixture.request(404, `${method} ${path}`, { token: fixture.stranger.token, ...bodyOf(method, path) });
    await drop(uid);
  });

  it('finds a webhook in its own factory only', async () => {
    const { uid } = await fixture.createWebhook();
    const elsewhere = await fixture.createFactory();
    for (const [method, path] of calls(uid, elsewhere).slice(2))
      await fixture.request(404, `${method} ${path}`, { token: fixture.admin.token, ...bodyOf(method, path) });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 1, isDeleted: false });
    await drop(uid);
  });

  it('rejects blank uids with 400, and malformed ones with 404', async () => {
    const { token } = fixture.admin;
    for (const [uid, factory, status] of [
      ['%20', fixture.factory, 400],
      [UNKNOWN_UID, '%20', 400],
      ['no-uid', fixture.factory, 404],
      [UNKNOWN_UID, 'no-uid', 404],
    ] as const) {
      const some = factory === fixture.factory ? calls(uid, factory).slice(2) : calls(uid, factory);
      for (const [method, path] of some)
        await fixture.request(status, `${method} ${path}`, { token, ...bodyOf(method, path) });
    }
  });
});
