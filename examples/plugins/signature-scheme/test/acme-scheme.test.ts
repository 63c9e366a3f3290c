import { createHmac } from 'node:crypto';
import { signatureSchemeConformance, startTestHeadrace, type TestHeadrace } from 'headrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import AcmeSchemePlugin, { AcmeScheme } from 'headrace-example-signature-scheme';

const SECRET = 'a secret that Acme has generated';

signatureSchemeConformance('Acme', { scheme: new AcmeScheme(), secret: SECRET });

let headrace: TestHeadrace;
let address: string;

beforeAll(async () => {
  headrace = await startTestHeadrace({ plugins: [AcmeSchemePlugin] });
  const { body } = await headrace.request(201, `POST /factories/${headrace.factoryUid}/webhooks`, {
    body: { name: 'acme', auth_mode: 'signature', signature_scheme: 'acme', secret: SECRET },
  });
  address = `${headrace.ingressUrl}/webhooks/w/${body.uid}`;
}, 60_000);
afterAll(() => headrace.close());

/** As Acme does. */
function send(body: string, secret = SECRET): Promise<Response> {
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const headers = { 'x-acme-time': String(time), 'x-acme-signature': signature, 'x-acme-delivery': 'delivery-1' };
  return fetch(address, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

it('is offered by the API', async () => {
  const { body } = await headrace.request(200, 'GET /webhook-signature-schemes');
  expect(JSON.stringify(body)).toContain('https://acme.example/docs/webhooks');
});

it('answers the handshake with the challenge', async () => {
  const response = await send('{"type":"verification","challenge":"c-1"}');
  expect([response.status, await response.json()]).toEqual([200, { challenge: 'c-1' }]);
});

it('accepts a signed delivery once, and rejects one with another signature', async () => {
  expect((await send('{"deployed":true}')).status).toBe(202);
  expect((await send('{"deployed":true}')).status).toBe(202);
  expect((await send('{"deployed":false}', 'another secret')).status).toBe(401);
  const [row] = await headrace.query<{ accepted: number }>(
    `SELECT count(*)::int AS accepted FROM webhook_deliveries WHERE outcome = 'A'`,
  );
  expect(row?.accepted).toBe(1);
});
