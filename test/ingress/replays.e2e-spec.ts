import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltWebhook, startTestIngress, type TestIngress } from '#testing';
import {
  SIGNATURE_SCHEMES,
  SignatureSchemes,
} from '../../libs/domain/webhooks/src/domain/signing/signature-schemes.js';
import type { SignedRequest } from '../../libs/domain/webhooks/src/domain/signing/signature-scheme.js';
import { loggedDeliveries } from './delivery-log.js';
import { post } from './post.js';

const schemes = new SignatureSchemes(SIGNATURE_SCHEMES);
/** Their signature covers the sender's id in its header: with another one it is a forgery and no replay. */
const SIGNS_ID_HEADER = 'webhook-signature svix-signature';
/** Whose key is public, so that only the sender can sign, and which send the secret itself. */
const NOT_SIGNED_HERE = ['discord', 'figma', 'gitlab_token', 'sendgrid', 'standard_webhooks_v1a'];

let ingress: TestIngress;
beforeAll(async () => {
  ingress = await startTestIngress({ settings: { ingressPublicUrl: 'https://hooks.example' } });
});
afterAll(() => ingress.close());

function schemeOf(id: string) {
  const scheme = schemes.find(id);
  if (scheme === null) throw new Error(`There is no scheme ${id}.`);
  return scheme;
}

/** A webhook of a scheme, with a secret that the scheme takes. */
async function webhookOf(id: string, deliveryIdHeader?: string): Promise<BuiltWebhook> {
  const secret = ['a secret of a test, long enough', `whsec_${randomBytes(32).toString('base64')}`].find(
    (candidate) => schemeOf(id).checkSecret(candidate) === null,
  );
  return ingress.webhooks.webhook({
    authMode: 'signature',
    signatureScheme: id,
    secret: secret ?? randomBytes(32).toString('base64'),
    ...(deliveryIdHeader !== undefined && { deliveryIdHeader }),
  });
}

function sign(id: string, hook: BuiltWebhook, body: object, { deliveryId = 'first', agoSeconds = 0 } = {}) {
  const signed = schemeOf(id).sign({
    body: Buffer.from(JSON.stringify(body)),
    secret: hook.secret,
    now: new Date(Date.now() - agoSeconds * 1000),
    url: ingress.settings.ingressPublicUrl + hook.path,
    deliveryId,
  });
  if (signed === null) throw new Error(`${id} cannot sign.`);
  return signed;
}

async function deliver({ url, headers, body }: SignedRequest, more: Record<string, string> = {}): Promise<unknown> {
  const path = url.slice(ingress.settings.ingressPublicUrl.length);
  const answer = await post(ingress.url + path, { headers: { ...headers, ...more }, body });
  expect(answer.status).toBe(202);
  return answer.json?.delivery_id;
}
const outcomes = async (hook: BuiltWebhook): Promise<string> =>
  (await loggedDeliveries(ingress.database, hook.id)).map(({ outcome }) => outcome).join('');

describe('a recorded signed delivery', () => {
  const signing = schemes.all().filter(({ id }) => !NOT_SIGNED_HERE.includes(id));

  it('exists for nearly every scheme', () => {
    expect(signing.length).toBeGreaterThanOrEqual(40);
  });

  it.each(signing.map((scheme) => [scheme.id, scheme] as const))(
    'of %s is a Duplicate under other unsigned ids',
    async (id, scheme) => {
      const hook = await webhookOf(id, 'x-own-id');
      const body = { id: 'evt_1', event_id: 'evt_1', event: { id: 'evt_1' }, challenge: 'none' };
      const signed = sign(id, hook, body);
      const unsigned = scheme.signatureHeaders.some((header) => SIGNS_ID_HEADER.includes(header))
        ? []
        : scheme.deliveryIdHeaders;
      const first = await deliver(signed);
      const fresh = { ...Object.fromEntries(unsigned.map((header) => [header, 'fresh'])) };
      const ids = [
        await deliver(signed, { 'X-Headrace-Delivery-Id': 'fresh' }),
        await deliver(signed, { 'X-Own-Id': 'fresh' }),
        await deliver(signed, fresh),
      ];
      expect(ids).toEqual([first, first, first]);
      expect(await outcomes(hook)).toBe('ADDD');
    },
  );

  it('of Mailgun is a duplicate with another body, for any header of the webhook', async () => {
    for (const header of [undefined, 'x-own-id']) {
      const hook = await webhookOf('mailgun', header);
      const signed = sign('mailgun', hook, { 'event-data': { event: 'opened' } });
      const other = { ...(JSON.parse(signed.body.toString()) as object), 'event-data': { event: 'forged' } };
      await deliver(signed);
      await deliver({ ...signed, body: Buffer.from(JSON.stringify(other)) }, { 'X-Headrace-Delivery-Id': 'fresh' });
      await deliver({ ...signed, body: Buffer.from(JSON.stringify(other)) }, { 'X-Own-Id': 'fresh' });
      expect(await outcomes(hook)).toBe('ADD');
    }
  });

  it('does not use up the ids under which it is repeated', async () => {
    const hook = await webhookOf('github');
    const recorded = sign('github', hook, { n: 1 });
    await deliver(recorded);
    await deliver(recorded, { 'x-github-delivery': 'to-come' });
    await deliver(sign('github', hook, { n: 2 }, { deliveryId: 'to-come' }));
    expect(await outcomes(hook)).toBe('ADA');
  });
});

describe('a retry of a sender', () => {
  it.each([
    ['zendesk', 'with its id in an unsigned header'],
    ['standard_webhooks', 'with its id in a signed header'],
    ['stripe', 'with its id in the body'],
  ])('of %s, %s, signed again at another time, is a Duplicate', async (id) => {
    const hook = await webhookOf(id);
    const first = await deliver(sign(id, hook, { id: 'evt_1', pending_webhooks: 2 }, { agoSeconds: 60 }));
    const retry = sign(id, hook, { id: 'evt_1', pending_webhooks: 1 });
    expect(await deliver(retry)).toBe(first);
    expect(await outcomes(hook)).toBe('AD');
  });

  it('is a duplicate under another unsigned id as well', async () => {
    const hook = await webhookOf('zendesk');
    const first = await deliver(sign('zendesk', hook, { n: 1 }, { agoSeconds: 60 }));
    const retry = sign('zendesk', hook, { n: 1 });
    await deliver(retry);
    expect(await deliver(retry, { 'x-zendesk-webhook-invocation-id': 'fresh' })).toBe(first);
    expect(await outcomes(hook)).toBe('ADD');
  });
});

describe('the identity of a signed delivery', () => {
  it('is the signed id in its body, before the unsigned header of the service', async () => {
    const hook = await webhookOf('stripe');
    await deliver(sign('stripe', hook, { id: 'evt_7' }), { 'X-Headrace-Delivery-Id': 'unsigned' });
    expect(await loggedDeliveries(ingress.database, hook.id)).toMatchObject([
      { identity_kind: 'scheme_body', identity: 'evt_7' },
    ]);
  });
});
