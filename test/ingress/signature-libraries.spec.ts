import { createPrivateKey, generateKeyPairSync, randomBytes, randomUUID, sign as signBytes } from 'node:crypto';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { sign as signGithub } from '@octokit/webhooks-methods';
import { WorkOS } from '@workos-inc/node';
import { verifyKey } from 'discord-interactions';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { incoming, SAMPLES } from './scheme-samples.js';

/** The senders' own libraries, with fresh bodies, secrets and times: nothing here was recorded. */
const RUNS = 50;
const url = 'https://ingress.example/webhooks/w/AbCdEfGhIjKlMnOpQrStUv';
const anyBody = fc.json({ stringUnit: 'binary' }).map((json) => Buffer.from(json));
const anyObject = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value)));
const anyText = fc.string({ minLength: 8, maxLength: 60 }).filter((text) => text.trim() !== '');
/** The libraries ask the clock of the machine. */
const now = (): Date => new Date(Math.floor(new Date().getTime() / 1000) * 1000);

function schemeOf(id: string) {
  const sample = SAMPLES.find(({ scheme }) => scheme.id === id);
  if (!sample) throw new Error(`There is no ${id}.`);
  return sample.scheme;
}

function accepts(id: string, headers: Record<string, string>, body: Buffer, secret: string, at: Date): boolean {
  return schemeOf(id).verify(incoming({ body, headers, url }, headers), secret, at);
}

/** What the library signed is taken, and with one byte more or another secret it is not. */
function expectTaken(
  id: string,
  headers: Record<string, string>,
  body: Buffer,
  secret: string,
  other: string,
  at: Date,
): void {
  expect(accepts(id, headers, body, secret, at)).toBe(true);
  expect(accepts(id, headers, Buffer.concat([body, Buffer.from('\n')]), secret, at)).toBe(false);
  expect(accepts(id, headers, body, other, at)).toBe(false);
}

describe('a request that is signed with the library of the sender', () => {
  it.each(['standard_webhooks', 'anthropic', 'openai', 'incident_io', 'gitlab_signing'])(
    'standardwebhooks, for %s',
    (id) => {
      fc.assert(
        fc.property(anyBody, (body) => {
          const [secret, other] = [randomBytes(32), randomBytes(32)].map(
            (bytes) => `whsec_${bytes.toString('base64')}`,
          );
          const [at, messageId] = [now(), `msg_${randomUUID()}`];
          const signature = new StandardWebhook(secret ?? '').sign(messageId, at, body.toString('utf8'));
          const headers = {
            'webhook-id': messageId,
            'webhook-timestamp': String(at.getTime() / 1000),
            'webhook-signature': signature,
          };
          expectTaken(id, headers, body, secret ?? '', other ?? '', at);
        }),
        { numRuns: RUNS },
      );
    },
  );

  it('standardwebhooks with a raw key, as Polar uses it', () => {
    fc.assert(
      fc.property(anyBody, anyText, (body, secret) => {
        const [at, messageId] = [now(), randomUUID()];
        const signature = new StandardWebhook(secret, { format: 'raw' }).sign(messageId, at, body.toString('utf8'));
        const headers = {
          'webhook-id': messageId,
          'webhook-timestamp': String(at.getTime() / 1000),
          'webhook-signature': signature,
        };
        expectTaken('polar', headers, body, secret, `${secret}x`, at);
      }),
      { numRuns: RUNS },
    );
  });

  it.each(['standard_webhooks', 'clerk', 'resend'])('svix, for %s', (id) => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const [secret, other] = [randomBytes(24), randomBytes(24)].map((bytes) => `whsec_${bytes.toString('base64')}`);
        const [at, messageId] = [now(), `msg_${randomUUID()}`];
        const signature = new SvixWebhook(secret ?? '').sign(messageId, at, body.toString('utf8'));
        const headers = {
          'svix-id': messageId,
          'svix-timestamp': String(at.getTime() / 1000),
          'svix-signature': signature,
        };
        expectTaken(id, headers, body, secret ?? '', other ?? '', at);
      }),
      { numRuns: RUNS },
    );
  });

  it('stripe', () => {
    const stripe = new Stripe('sk_test_of_nobody');
    fc.assert(
      fc.property(anyBody, anyText, (body, secret) => {
        const at = now();
        const header = stripe.webhooks.generateTestHeaderString({
          payload: body.toString('utf8'),
          secret,
          timestamp: at.getTime() / 1000,
        });
        expectTaken('stripe', { 'stripe-signature': header }, body, secret, `${secret}x`, at);
      }),
      { numRuns: RUNS },
    );
  });

  it('@octokit/webhooks-methods, for GitHub', async () => {
    await fc.assert(
      fc.asyncProperty(anyBody, anyText, async (body, secret) => {
        const headers = { 'x-hub-signature-256': await signGithub(secret, body.toString('utf8')) };
        expectTaken('github', headers, body, secret, `${secret}x`, now());
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a request that is signed here is accepted by the library of', () => {
  const signed = (id: string, body: Buffer, secret: string) => {
    const found = schemeOf(id).sign({ body, secret, now: new Date(), url, deliveryId: randomUUID() });
    if (found === null) throw new Error(`${id} does not sign.`);
    return found;
  };

  it('Linear, which uses only the time in the body', () => {
    fc.assert(
      fc.property(anyObject, anyText, (body, secret) => {
        const request = signed('linear', body, secret);
        const signature = request.headers['linear-signature'] ?? '';
        expect(new LinearWebhookClient(secret).verify(request.body, signature)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('WorkOS', async () => {
    const workos = new WorkOS('sk_of_nobody');
    // Its library writes the JSON again before it checks: only a body that stays the same then will do.
    await fc.assert(
      fc.asyncProperty(anyObject, anyText, async (object, secret) => {
        const payload = JSON.parse(object.toString('utf8')) as Record<string, unknown>;
        const request = signed('workos', Buffer.from(JSON.stringify(payload)), secret);
        const sigHeader = request.headers['workos-signature'] ?? '';
        expect(await workos.webhooks.verifyHeader({ payload, sigHeader, secret })).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('Discord, whose signature is accepted here', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    const secret = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const at = now();
        const time = String(at.getTime() / 1000);
        const signature = signBytes(null, Buffer.concat([Buffer.from(time), body]), key).toString('hex');
        expect(await verifyKey(body, signature, time, secret)).toBe(true);
        const headers = { 'x-signature-ed25519': signature, 'x-signature-timestamp': time };
        expectTaken('discord', headers, body, secret, 'ab'.repeat(32), at);
      }),
      { numRuns: RUNS },
    );
  });
});
