import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltWebhook, startTestIngress, type TestIngress } from '#testing';
import { loggedDeliveries } from './delivery-log.js';
import { bearer, post, type Sending } from './post.js';

/** What can be wrong with a delivery, in the order of the contract's checks, and what each alone is answered with. */
const FAULTS = {
  'another method': [405, 'method_not_allowed', /POST/],
  'no webhook': [404, 'resource_not_found', /Webhook not found/],
  'failed too often': [429, 'rate_limited', /Too many failed authentication/],
  'too large': [413, 'payload_too_large', /262144/],
  'wrong secret': [401, 'authentication_required', /not authenticated/],
  'too many': [429, 'rate_limited', /rate limit of this webhook/],
  'no JSON': [400, 'invalid_request', /JSON/],
  'a duplicate': [202, undefined, undefined],
} as const;
type Fault = keyof typeof FAULTS;
const NAMES = Object.keys(FAULTS) as Fault[];
const ID = { 'X-Headrace-Delivery-Id': 'the-same' };

let ingress: TestIngress;
beforeAll(async () => {
  ingress = await startTestIngress({ settings: { webhookAuthFailureLimit: 2 } });
});
afterAll(() => ingress.close());

/** A webhook in such a state, and a request to it, that have all these faults. */
async function faulty(faults: readonly Fault[]): Promise<{ hook: BuiltWebhook; firstId: unknown; sending: Sending }> {
  const hook = await ingress.webhooks.webhook();
  const has = (fault: Fault): boolean => faults.includes(fault);
  const url = ingress.url + hook.path;
  const first = has('a duplicate') ? await post(url, { headers: { ...bearer(hook.secret), ...ID }, body: '{}' }) : null;
  if (has('failed too often'))
    for (let n = 0; n < 2; n += 1) expect((await post(url, { headers: bearer('wrong'), body: '{}' })).status).toBe(401);
  if (has('too many'))
    await ingress.database.query(
      `UPDATE headrace.webhook_rates SET stamps = array_fill(headrace.now(), ARRAY[60]) WHERE webhook_id = $1`,
      [hook.id],
    );
  if (has('no webhook'))
    await ingress.database.query(`UPDATE headrace.webhooks SET enabled = false, version = version + 1 WHERE id = $1`, [
      hook.id,
    ]);
  const text = has('no JSON') ? 'no json' : '{}';
  return {
    hook,
    firstId: first?.json?.delivery_id,
    sending: {
      method: has('another method') ? 'PUT' : 'POST',
      headers: { ...bearer(has('wrong secret') ? 'wrong' : hook.secret), ...ID },
      body: has('too large') ? text.padEnd(262_145) : text,
    },
  };
}

const PAIRS = NAMES.flatMap((one, index) => NAMES.slice(index + 1).map((other) => [one, other] as const));

describe('a request with two faults gets the answer of the earlier check', () => {
  it('covers every pair', () => expect(PAIRS).toHaveLength(28));

  it.each(PAIRS)('answers a request with two faults by the earlier check (%s and %s)', async (earlier, later) => {
    const { hook, firstId, sending } = await faulty([earlier, later]);
    const before = (await loggedDeliveries(ingress.database, hook.id)).filter(({ outcome }) => outcome === 'A');
    const [status, code, detail] = FAULTS[earlier];
    for (const chunkBytes of [undefined, 50_000]) {
      const answer = await post(ingress.url + hook.path, {
        ...sending,
        ...(chunkBytes !== undefined && { chunkBytes }),
      });
      expect([answer.status, answer.json?.error_code]).toEqual([status, code]);
      if (detail) expect(answer.json?.detail).toMatch(detail);
      else expect(answer.json).toEqual({ delivery_id: firstId });
      if (status === 429) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      if (status === 405) expect(answer.headers.allow).toBe('POST');
      if (status === 413) expect(answer.headers.connection).toBe('close');
    }
    const accepted = (await loggedDeliveries(ingress.database, hook.id)).filter(({ outcome }) => outcome === 'A');
    expect(accepted).toEqual(before);
  });
});
