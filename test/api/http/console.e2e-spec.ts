import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const assetOf = (page: string): string => /src="(?:\.\/|\.\.\/)*assets\/([^"]+\.js)"/.exec(page)?.[1] ?? '';

describe('the files of the console', () => {
  it('are reached from the origin, and contain no data and nothing inline', async () => {
    const { headers } = await api.atOrigin(302, 'GET /');
    expect(headers.get('location')).toBe('./console/');
    const { text, headers: page } = await api.atOrigin(200, 'GET /console/');
    expect(page.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.get('cache-control')).toBe('no-cache');
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+=/);
    const policy = page.get('content-security-policy') ?? '';
    for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy.split('; ')).toContain(rule);
    expect(policy).not.toContain('unsafe');
  });

  it.each([
    ['/console', 'console/assets/'],
    ['/console/', './assets/'],
    ['/console/runs', './assets/'],
    ['/console/runs/1', '../assets/'],
    ['/console/a/b/c', '../../assets/'],
  ])('are named relative to %s, so that a proxy may add a prefix', async (path, prefix) => {
    const { text } = await api.atOrigin(200, `GET ${path}`);
    const urls = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
    expect(urls.length).toBeGreaterThan(1);
    for (const url of urls) {
      expect(url.startsWith(prefix)).toBe(true);
      expect(new URL(url, `https://proxy.example/prefix${path}`).pathname).toMatch(/^\/prefix\/console\/assets\//);
    }
  });

  it('are cached by their hashed names, and compressed', async () => {
    const { text } = await api.atOrigin(200, 'GET /console/');
    const { headers } = await api.atOrigin(200, `GET /console/assets/${assetOf(text)}`);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('have at most 60 kB of compressed script', async () => {
    const { text } = await api.atOrigin(200, 'GET /console/');
    const response = await fetch(`${api.url}/console/assets/${assetOf(text)}`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(10_000);
    expect(Number(response.headers.get('content-length'))).toBeLessThan(60_000);
    await response.arrayBuffer();
  });

  it('are no other files', async () => {
    for (const name of [
      'nothing.js',
      '..%2Findex.html',
      '%2e%2e%2findex.html',
      '../../package.json',
      '..%2F..%2Fheadrace.js',
    ])
      expect((await fetch(`${api.url}/console/assets/${name}`)).headers.get('content-type')).not.toContain(
        'javascript',
      );
    await api.atOrigin(404, 'GET /console/assets/nothing.js');
    await api.atOrigin(404, 'GET /console/assets/..%2Findex.html');
  });
});
