import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestIngress, type TestIngress } from '#testing';

const UID = 'AbCdEfGhIjKlMnOpQrStUv';
let ingress: TestIngress;

beforeAll(async () => {
  ingress = await startTestIngress();
});
afterAll(() => ingress.close());

const NOT_FOUND = {
  type: 'https://runs.example/problems/resource_not_found',
  title: 'Not found',
  status: 404,
  detail: 'Webhook not found.',
  error_code: 'resource_not_found',
  retryable: false,
  error: 'Not found: Webhook not found.',
};

describe('a delivery', () => {
  it.each([`/webhooks/w/${UID}`, `/webhooks/w/${UID}/secret-token`, '/webhooks/w/x'])(
    'to %s without a webhook gets the same 404',
    async (path) => {
      const response = await fetch(ingress.url + path, { method: 'POST', body: 'not json at all' });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(await response.json()).toEqual(NOT_FOUND);
    },
  );

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
    'with %s gets 405, before anything is looked up',
    async (method) => {
      const response = await fetch(`${ingress.url}/webhooks/w/${UID}`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
      if (method !== 'HEAD')
        expect(await response.json()).toMatchObject({ error_code: 'method_not_allowed', retryable: false });
    },
  );
});

describe('other paths', () => {
  it.each(['/', '/webhooks', '/webhooks/w', `/webhooks/w/${UID}/a/b`, '/api/v1/agent/runs', '/docs', '/metrics'])(
    '%s gets 404',
    async (path) => {
      const response = await fetch(ingress.url + path, { method: 'POST' });
      expect(response.status).toBe(404);
      const answer = (await response.json()) as { detail: string };
      expect(Object.keys(answer).sort()).toEqual(Object.keys(NOT_FOUND).sort());
      if (!path.startsWith('/webhooks/w'))
        expect(answer.detail).toContain('The API is at https://runs.example/api/v1.');
    },
  );

  it('a path that cannot be decoded gets 404, because nothing is decoded', async () => {
    const response = await fetch(`${ingress.url}/webhooks/w/%E0%A4%A`, { method: 'POST' });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual(NOT_FOUND);
  });

  it('has no x-powered-by header', async () => {
    const response = await fetch(`${ingress.url}/health/live`);
    expect(response.headers.get('x-powered-by')).toBeNull();
  });
});

describe('health', () => {
  it('is live and ready with a database, and not ready while draining', async () => {
    expect(await (await fetch(`${ingress.url}/health/live`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${ingress.url}/health/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { ready: true, draining: false, checks: { database: 'ok' } },
    ]);
  });
});

describe('shutdown', () => {
  it('closes idle connections and releases the port', async () => {
    const other = await startTestIngress({ database: ingress.database });
    const { hostname, port } = new URL(other.url);
    const idle = connect(Number(port), hostname);
    const closed = new Promise((resolve) => idle.once('close', resolve));
    await new Promise((resolve) => idle.once('connect', resolve));
    await other.close();
    await closed;
    await expect(fetch(`${other.url}/health/live`)).rejects.toThrow();
  });
});

describe('a port that is taken', () => {
  it('is reported, and no listener stays open', async () => {
    await expect(
      startTestIngress({ database: ingress.database, settings: { ingressPort: Number(new URL(ingress.url).port) } }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
