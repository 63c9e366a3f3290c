import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, webhooksOf } from '../../support/api-fixture.js';
import { OVERSIZED_BODY, pointersOf, requestAnyStatus } from '../../support/api-requests.js';

const SIGNED = { auth_mode: 'signature', signature_scheme: 'github' };

let fixture: ApiFixture;
let factory: string;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.createFactory();
  ({ factory } = fixture);
});
afterAll(() => fixture.close());

/** In its own factory: each has 20 places. */
const make = async (fields: object = {}) => {
  factory = await fixture.createFactory();
  return fixture.createWebhook(fields, factory);
};
const pathOf = (uid: string): string => `${webhooksOf(factory)}/${uid}`;
const rotate = async (uid: string, body?: object, status = 200) =>
  (await fixture.request(status, `POST ${pathOf(uid)}/rotate-secret`, { token: fixture.admin.token, body })).body;
const get = async (uid: string) =>
  (await fixture.request(200, `GET ${pathOf(uid)}`, { token: fixture.admin.token })).body;
const putSecret = (name: string, value: string, status = 200) =>
  fixture.request(status, `PUT /secrets/${name}`, { token: fixture.admin.token, body: { value } });

describe('rotateWebhookSecret', () => {
  it.each(['token', 'url_token'])('returns a new secret of %s only once and increments the version', async (mode) => {
    const { uid, secret } = await make({ auth_mode: mode });
    const body = await rotate(uid);
    expect(body.secret).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(body.secret).not.toBe(secret);
    expect(body.ingress_url.endsWith(mode === 'url_token' ? `/${uid}/${body.secret}` : `/${uid}`)).toBe(true);
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 2, secret: body.secret, secretVersion: 2 });
    expect(await get(uid)).not.toHaveProperty('secret');
    expect((await rotate(uid, {})).secret).not.toBe(body.secret);
    expect(fixture.api.log.text).not.toContain(body.secret);
  });

  it('accepts the sender’s secret, or generates one for Standard Webhooks', async () => {
    const { uid } = await make({ ...SIGNED, secret: 'first' });
    expect(await rotate(uid, { secret: 'second' })).toMatchObject({ secret: 'second' });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 2, secret: 'second' });
    const standard = await make({ auth_mode: 'signature', signature_scheme: 'standard_webhooks' });
    const { secret } = await rotate(standard.uid);
    expect(secret).toMatch(/^whsec_/);
    expect(secret).not.toBe(standard.secret);
    const own = `whsec_${randomBytes(32).toString('base64')}`;
    expect(await rotate(standard.uid, { secret: own })).toMatchObject({ secret: own });
  });

  it('rejects secrets that the mode or the scheme does not accept with 400', async () => {
    const refusals: [object, object | undefined][] = [
      [{}, { secret: 'mine' }],
      [{ auth_mode: 'url_token' }, { secret: 'mine' }],
      [{ ...SIGNED, secret: 'first' }, undefined],
      [{ ...SIGNED, secret: 'first' }, { secret: ' ' }],
      [{ ...SIGNED, secret: 'first' }, { secret: 5 }],
      [{ ...SIGNED, secret: 'first' }, { secret: 'x'.repeat(65_537) }],
      [{ auth_mode: 'signature', signature_scheme: 'standard_webhooks' }, { secret: 'whsec_no' }],
      [{ auth_mode: 'signature', signature_scheme: 'asana' }, undefined],
    ];
    for (const [shape, body] of refusals) {
      const { uid } = await make(shape);
      const before = await fixture.webhooks.stored(uid);
      expect(pointersOf(await rotate(uid, body, 400))).toEqual(['/secret']);
      expect(await fixture.webhooks.stored(uid)).toEqual(before);
    }
    const { uid } = await make();
    expect(pointersOf(await rotate(uid, { colour: 'red' }, 400))).toEqual(['/colour']);
  });

  it('rejects a webhook of a definition with 422 and the managed secret', async () => {
    const { uid, secret } = await make();
    await fixture.webhooks.markAsDefined(uid);
    const body = await rotate(uid, undefined, 422);
    expect(body).toMatchObject({ error_code: 'operation_not_supported' });
    expect(body.detail).toContain(`webhook-${uid}`);
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 1, secret });
  });

  it('rejects a large body with 413, and another media type with 415', async () => {
    const { uid } = await make();
    const line = `POST ${pathOf(uid)}/rotate-secret`;
    const { token } = fixture.admin;
    await fixture.request(413, line, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await fixture.request(415, line, { token, body: '{}', contentType: 'text/plain' });
  });

  it('returns different secrets to concurrent requests, and the last commit applies', async () => {
    const { uid } = await make();
    const line = `POST ${pathOf(uid)}/rotate-secret`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => requestAnyStatus(fixture.api, line, { token: fixture.admin.token })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    const secrets = answers.map(({ body }) => body.secret as string);
    expect(new Set(secrets).size).toBe(8);
    const { version, secretVersion, secret } = await fixture.webhooks.stored(uid);
    expect({ version, secretVersion }).toEqual({ version: 9, secretVersion: 9 });
    expect(secrets).toContain(secret);
  });

  it('does not fail beside a deletion, and leaves no secret', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { uid } = await make(round % 2 === 0 ? {} : SIGNED);
      const body = round % 2 === 0 ? {} : { secret: 'supplied' };
      const [removed, ...rotated] = await Promise.all([
        fetch(`${fixture.api.url}/api/v1${pathOf(uid)}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${fixture.admin.token}` },
        }),
        ...Array.from({ length: 3 }, () =>
          requestAnyStatus(fixture.api, `POST ${pathOf(uid)}/rotate-secret`, { token: fixture.admin.token, body }),
        ),
      ]);
      expect(removed?.status).toBe(204);
      expect(rotated.every(({ status }) => status === 200 || status === 404)).toBe(true);
      const left = await fixture.database.query('SELECT 1 FROM managed_secrets WHERE name = $1', [`webhook-${uid}`]);
      expect(left).toEqual([]);
    }
    expect(fixture.api.log.errors).toEqual([]);
  });
});

describe('a webhook that lacks its sender’s secret', () => {
  it('is enabled when the secret is set', async () => {
    const { uid } = await make(SIGNED);
    expect(await rotate(uid, { secret: 'supplied' })).toMatchObject({ enabled: true, secret: 'supplied' });
    const shown = await get(uid);
    expect(shown).toMatchObject({ enabled: true });
    expect(shown).not.toHaveProperty('secret_missing');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 2, secret: 'supplied', secretVersion: 1 });
  });

  it('stays disabled when it was created as disabled', async () => {
    const made = await make({ ...SIGNED, enabled: false });
    expect(await rotate(made.uid, { secret: 'supplied' })).toMatchObject({ enabled: false });
    const { uid } = await make(SIGNED);
    await fixture.request(200, `PATCH ${pathOf(uid)}`, { token: fixture.admin.token, body: { enabled: false } });
    expect(await rotate(uid, { secret: 'supplied' })).toMatchObject({ enabled: false });
    const body = { enabled: true };
    await fixture.request(200, `PATCH ${pathOf(uid)}`, { token: fixture.admin.token, body });
    expect(await rotate(uid, { secret: 'again' })).toMatchObject({ enabled: true });
  });
});

describe('a webhook whose secret is in a handshake', () => {
  it.each(['asana', 'notion'])('%s returns the captured secret, and uses it after the confirmation', async (scheme) => {
    const { uid } = await make({ auth_mode: 'signature', signature_scheme: scheme });
    expect(await get(uid)).toMatchObject({ secret_pending: true });
    await fixture.webhooks.captureSecret(uid, 'brought-by-the-sender');
    expect(await get(uid)).toMatchObject({ secret_pending: true, captured_secret: 'brought-by-the-sender' });
    const { text } = await fixture.request(200, `GET ${webhooksOf(factory)}`, { token: fixture.admin.token });
    expect(text).not.toContain('brought');
    expect(await rotate(uid)).toMatchObject({ secret: 'brought-by-the-sender', enabled: true });
    const shown = await get(uid);
    expect(shown).not.toHaveProperty('secret_pending');
    expect(shown).not.toHaveProperty('captured_secret');
    const stored = { version: 3, secret: 'brought-by-the-sender', hasCaptured: false };
    expect(await fixture.webhooks.stored(uid)).toMatchObject(stored);
    expect(pointersOf(await rotate(uid, undefined, 400))).toEqual(['/secret']);
  });

  it('is not confirmed with a secret that cannot be decrypted', async () => {
    const { uid } = await make({ auth_mode: 'signature', signature_scheme: 'asana' });
    await fixture.webhooks.captureSecret(uid, 'brought-by-the-sender');
    await fixture.database.query(
      'UPDATE webhooks SET sealed_captured_secret = overlay(sealed_captured_secret placing $2 from 40) WHERE uid = $1',
      [uid, 'AAAA'],
    );
    expect(await get(uid)).not.toHaveProperty('captured_secret');
    expect(pointersOf(await rotate(uid, undefined, 400))).toEqual(['/secret']);
  });

  it('accepts another secret instead, before and after the handshake', async () => {
    for (const isCaptured of [false, true]) {
      const { uid } = await make({ auth_mode: 'signature', signature_scheme: 'asana' });
      if (isCaptured) await fixture.webhooks.captureSecret(uid, 'brought-by-a-stranger');
      expect(await rotate(uid, { secret: 'known-to-us' })).toMatchObject({ secret: 'known-to-us' });
      expect(await fixture.webhooks.stored(uid)).toMatchObject({ secret: 'known-to-us', hasCaptured: false });
      expect(await get(uid)).not.toHaveProperty('secret_pending');
    }
  });
});

describe('a managed secret that changes', () => {
  it('changes every webhook that uses it', async () => {
    await putSecret('shared', 'first');
    const one = await make({ secret_name: 'shared' });
    const two = await make({ ...SIGNED, secret_name: 'shared' });
    const other = await make();
    const pinned = await make({ secret_name: 'shared' });
    await fixture.webhooks.markAsDefined(pinned.uid);
    await putSecret('shared', 'second');
    for (const { uid } of [one, two])
      expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 2, secret: 'second', secretVersion: 2 });
    expect(await fixture.webhooks.stored(other.uid)).toMatchObject({ version: 1, secret: other.secret });
    expect(await fixture.webhooks.stored(pinned.uid)).toMatchObject({ version: 1, secret: 'first', secretVersion: 1 });
  });

  it('changes with the rotation of a webhook that uses it', async () => {
    await putSecret('rotated', 'first');
    const sharer = await make({ secret_name: 'rotated' });
    const { uid } = await make({ auth_mode: 'url_token', secret_name: 'rotated' });
    const { secret } = await rotate(uid);
    for (const webhook of [uid, sharer.uid])
      expect(await fixture.webhooks.stored(webhook)).toMatchObject({ version: 2, secret });
  });

  it('is rejected with 400 and the name of a webhook that cannot use it', async () => {
    await putSecret('strict', 'url-safe');
    const follower = await make({ secret_name: 'strict' });
    const { uid } = await make({ auth_mode: 'url_token', secret_name: 'strict', name: 'picky' });
    const { body, text } = await putSecret('strict', 'no/url', 400);
    expect(body.detail).toContain(`picky (uid ${uid})`);
    expect(text).not.toContain('no/url');
    for (const webhook of [uid, follower.uid])
      expect(await fixture.webhooks.stored(webhook)).toMatchObject({ version: 1, secret: 'url-safe' });
  });

  it('is rejected with 400 when the rotation of one webhook is invalid for another', async () => {
    await putSecret('mixed', `whsec_${'A'.repeat(43)}`);
    await make({ auth_mode: 'url_token', secret_name: 'mixed', name: 'sharer' });
    const { uid } = await make({ ...SIGNED, secret_name: 'mixed' });
    const body = await rotate(uid, { secret: 'not/safe' }, 400);
    expect(pointersOf(body)).toEqual(['/secret']);
    expect(body.detail).toContain('sharer');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ version: 1 });
  });

  it('enables a webhook that lacked its secret', async () => {
    const { uid } = await make(SIGNED);
    await putSecret(`webhook-${uid}`, 'supplied');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ enabled: true, secret: 'supplied', version: 2 });
  });

  it('is not deleted while a webhook uses it: 409 with its name', async () => {
    await putSecret('held', 'first');
    const { uid } = await make({ secret_name: 'held' });
    const { token } = fixture.admin;
    const { body } = await fixture.request(409, 'DELETE /secrets/held', { token });
    expect(body.detail).toContain(uid);
    await fixture.request(204, `DELETE ${pathOf(uid)}`, { token });
    await fixture.request(204, 'DELETE /secrets/held', { token });
  });
});
