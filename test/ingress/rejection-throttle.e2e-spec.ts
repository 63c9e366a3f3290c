import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type BuiltWebhook, startTestIngress, type TestIngress } from '#testing';
import { bearer, post } from './post.js';

let ingress: TestIngress;
let hook: BuiltWebhook;

beforeAll(async () => {
  ingress = await startTestIngress({
    settings: { ingressRejectionRateLimit: 10, ingressMaxConcurrentBodies: 24, webhookAuthFailureLimit: 10_000 },
  });
  hook = await ingress.webhooks.webhook();
});
afterAll(() => ingress.close());

const stranger = () => post(`${ingress.url}/webhooks/w/${'x'.repeat(22)}`, { body: '{}' });
const guess = () => post(ingress.url + hook.path, { headers: bearer('wrong'), body: '{}' });
const delivery = () => post(ingress.url + hook.path, { headers: bearer(hook.secret), body: '{}' });

it('delays rejections beyond the rate, and no deliveries', async () => {
  const answered: string[] = [];
  const record = (what: string) => (answer: { status: number }) => {
    answered.push(`${what} ${answer.status}`);
  };
  const refused = Array.from({ length: 24 }, () => stranger().then(record('stranger')));
  // The first ten come at once, the others a tenth of a second after each other.
  await Promise.all(refused.slice(0, 11));
  // As many as the bodies of one webhook that may be in memory: those that wait for a no have given their place back.
  const guesses = Array.from({ length: 6 }, () => guess().then(record('guess')));
  // Those who are refused wait for up to two seconds.
  await vi.waitFor(async () => expect((await delivery()).status).toBe(202), { interval: 20, timeout: 1_800 });
  expect(answered.length).toBeLessThan(30);
  await Promise.all([...refused, ...guesses]);
  expect(answered.filter((what) => what === 'stranger 404')).toHaveLength(24);
  expect(answered.filter((what) => what.startsWith('guess'))).toHaveLength(6);
});

it('recovers within seconds', async () => {
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 60 }, stranger));
  expect(answers.every(({ status }) => status === 404)).toBe(true);
  // Two seconds for each of them, not six for the last.
  expect(performance.now() - began).toBeLessThan(5_000);
});
