import { get, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#platform/kernel';
import { Metrics } from '#platform/observability';
import { startTestApi, type TestApi } from '#testing';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

/** The bytes as they are sent: fetch decodes them. */
const raw = (path: string, headers: OutgoingHttpHeaders) =>
  new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
    get(`${api.url}${path}`, { headers }, (response) => {
      buffer(response).then(
        (bytes) => resolve({ status: response.statusCode, headers: response.headers, bytes }),
        reject,
      );
    }).on('error', reject);
  });

describe('pages without a token', () => {
  it('reports that it is alive', async () => {
    const { body } = await api.atOrigin(200, 'GET /health/live');
    expect(body).toEqual({ status: 'ok' });
  });

  it('is ready while the database answers', async () => {
    const { body } = await api.atOrigin(200, 'GET /health/ready');
    expect(body).toEqual({ ready: true, draining: false, checks: { database: 'ok', objects: 'ok' } });
  });

  it('counts requests by operation and status', async () => {
    await api.request(401, 'GET /agent/environments');
    const text = await api.app.get(Metrics, { strict: false }).render();
    expect(text).toMatch(/http_request_duration_seconds_count\{operation="listEnvironments",status="401"\} [1-9]/);
    expect(text).toContain('process_cpu_seconds_total');
  });

  it.each([
    [401, 'GET /agent/environments'],
    [401, 'GET /nowhere'],
    [401, 'POST /agent/runs'],
  ])('forbids caching of a %i: %s', async (status, line) => {
    expect((await api.request(status, line)).headers.get('cache-control')).toBe('no-store');
  });

  it.each(['http://example.com/api/v1/sign-in-options', '/api\\v1\\sign-in-options#', '/api/v1#x'])(
    'forbids caching of the target %s, which the router reads as a path of the API',
    async (path) => {
      const { port } = new URL(api.url);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ host: '127.0.0.1', port, path }, resolve).on('error', reject);
      });
      response.resume();
      expect(response.headers['cache-control']).toBe('no-store');
    },
  );

  it('does not serve metrics at its own port: 404', async () => {
    await api.atOrigin(404, 'GET /metrics');
  });

  it.each(Object.keys(ERROR_CODES))('explains %s', async (code) => {
    const { text, headers } = await api.atOrigin(200, `GET /problems/${code}`);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain(`<code>${code}</code>`);
  });

  it('lists the error codes, and returns 404 for others', async () => {
    const { text } = await api.atOrigin(200, 'GET /problems');
    expect(text).toContain('href="problems/conflict"');
    await api.atOrigin(404, 'GET /problems/constructor');
  });

  it('redirects from the origin to the console', async () => {
    const { headers } = await api.atOrigin(302, 'GET /');
    expect(headers.get('location')).toBe('./console/');
  });
});

describe('documentation', () => {
  it('serves the document for this installation', async () => {
    const { body } = await api.atOrigin(200, 'GET /openapi.json');
    expect(body.info).toMatchObject({ title: 'Headrace API', version: '1.0.0' });
    expect(body.servers).toEqual([{ url: '/api/v1' }]);
    expect(body.components.securitySchemes.bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  it('describes the ids in paths, and the problem of a rejected definition', async () => {
    const { body } = await api.atOrigin(200, 'GET /openapi.json');
    const { parameters } = body.paths['/agent/runs/{runId}/approvals/{approvalId}'].post;
    expect(parameters).toEqual([
      expect.objectContaining({ name: 'runId', in: 'path', description: expect.stringContaining('`run_id`') }),
      expect.objectContaining({
        name: 'approvalId',
        in: 'path',
        description: expect.stringContaining('`approval_id`'),
      }),
    ]);
    expect(body.paths['/agent/runs/{runId}/approvals'].get.description).toContain('`rules`');
    const { Problem, ProblemDiagnostic } = body.components.schemas;
    expect(Problem.properties.diagnostics.items).toEqual({ $ref: '#/components/schemas/ProblemDiagnostic' });
    expect(Problem.required).not.toContain('diagnostics');
    expect(Object.keys(ProblemDiagnostic.properties)).toEqual(['code', 'path', 'line', 'column', 'message']);
  });

  it('serves Swagger UI that runs under the content security policy', async () => {
    const page = await api.atOrigin(200, 'GET /docs');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('upgrade-insecure-requests');
    // No inline script: the policy would block it.
    expect(page.text.match(/<script(?![^>]*\bsrc=)[^>]*>\s*\S/)).toBeNull();
    const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)]
      .map((match) => match[1] ?? '')
      .filter((source) => !source.startsWith('data:'));
    expect(sources.length).toBeGreaterThan(3);
    for (const source of sources) await api.atOrigin(200, `GET ${new URL(source, `${api.url}/docs`).pathname}`);
    const { text: script } = await api.atOrigin(200, 'GET /docs/swagger-ui-init.js');
    expect(script).toContain('"persistAuthorization": false');
    expect(script).not.toContain('eval(');
    expect(script).toContain('"filter": true');
  });

  it.each([
    ['/openapi.json', 'gzip'],
    ['/openapi.json', 'br'],
    ['/docs/swagger-ui-bundle.js', 'gzip'],
    ['/docs/swagger-ui-init.js', 'br'],
  ])('compresses %s with %s when the client accepts it', async (path, encoding) => {
    const plain = await raw(path, {});
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers.vary).toContain('Accept-Encoding');
    const compressed = await raw(path, { 'accept-encoding': encoding });
    expect(compressed.headers['content-encoding']).toBe(encoding);
    expect(compressed.bytes.length).toBeLessThan(plain.bytes.length / 3);
    const decoded = encoding === 'br' ? brotliDecompressSync(compressed.bytes) : gunzipSync(compressed.bytes);
    expect(decoded.equals(plain.bytes)).toBe(true);
  });

  it('answers a conditional request for a compressed file with 304', async () => {
    const { headers } = await raw('/docs/swagger-ui.css', { 'accept-encoding': 'gzip' });
    const again = await raw('/docs/swagger-ui.css', { 'accept-encoding': 'gzip', 'if-none-match': headers.etag ?? '' });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
  });
});
