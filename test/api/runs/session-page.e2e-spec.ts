import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

describe('the session page', () => {
  it('is the same for every run, and contains no data', async () => {
    const { headers, text } = await api.atOrigin(200, `GET /runs/${UNKNOWN_RUN_ID}`);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).not.toContain(UNKNOWN_RUN_ID);
    expect((await api.atOrigin(200, `GET /runs/${crypto.randomUUID()}`)).text).toBe(text);
    await api.atOrigin(404, 'GET /runs/not-a-run');
  });

  it('loads scripts, styles and data from this service only, and nothing inline', async () => {
    const { headers, text } = await api.atOrigin(200, `GET /runs/${UNKNOWN_RUN_ID}`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]),
    );
    expect(policy).not.toContain('unsafe');
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+=/);
    expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
      'assets/session.css',
      'assets/session.js',
    ]);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it.each([
    ['session.js', 'text/javascript; charset=utf-8'],
    ['session.css', 'text/css; charset=utf-8'],
  ])('serves %s', async (name, contentType) => {
    const { headers, text } = await api.atOrigin(200, `GET /runs/assets/${name}`);
    expect(headers.get('content-type')).toBe(contentType);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(text.length).toBeGreaterThan(1000);
  });

  it('serves no other file', async () => {
    for (const name of ['session.html', 'other.js', '..%2F..%2Fpackage.json', '%2e%2e%2findex.ts'])
      await api.atOrigin(404, `GET /runs/assets/${name}`);
  });

  it('does not render messages of agents as markup', async () => {
    const { text } = await api.atOrigin(200, 'GET /runs/assets/session.js');
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|eval\(/);
  });
});
