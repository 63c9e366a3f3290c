import { expect, it } from 'vitest';
import { pageOfTrigger } from './trigger-page.js';

const BASE = 'https://runs.example.com/headrace';

it.each([
  [`${BASE}/api/v1/factories/f1/webhooks/w1/deliveries/d-1`, `${BASE}/console/webhooks/w1?factory=f1&delivery=d-1`],
  [`${BASE}/api/v1/factories/f1/automations/a1`, `${BASE}/console/automations/a1?factory=f1`],
  [`${BASE}/api/v1/agent/schedules/s-1`, `${BASE}/console/schedules/s-1`],
  [`${BASE}/api/v1/agent/other`, null],
  ['https://github.com/acme/shop/issues/7', 'https://github.com/acme/shop/issues/7'],
  ['https://before.example.com/api/v1/agent/schedules/s-1', `${BASE}/console/schedules/s-1`],
])('the page of %s is %s', (url, page) => {
  expect(pageOfTrigger(url, BASE)).toBe(page);
});
