import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestResponse } from '#testing';

const SECRET_WORD = 'tell-nobody-7c1f';
const PATH = 'POST /environments';

let api: TestApi;
let token: string;

beforeAll(async () => {
  api = await startTestApi();
  const team = await api.identities.team();
  ({ token } = await api.identities.user({ [team]: 'owner' }));
});
afterAll(() => api.close());
beforeEach(() => api.log.clear());

/** The parts of a problem document that every one has. */
function expectProblem({ status, headers, body }: TestResponse, code: string): void {
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({ type: `${api.url}/problems/${code}`, status, error_code: code });
  expect(body.error).toBe(`${body.title}: ${body.detail}`);
  expect(body.trace_id).toMatch(/^[0-9a-f]{32}$/);
  expect(headers.get('x-trace-id')).toBe(body.trace_id);
  expect(typeof body.retryable).toBe('boolean');
}

/** A body as text, sent as JSON. */
const json = (body: string | Buffer) => ({ token, body, contentType: 'application/json' });

const config = (fields: object) => ({ token, body: { config: fields } });

describe('bodies that are not JSON', () => {
  it.each([
    ['a broken object', '{"config": {"name": "x",}}', 'line 1, column 25'],
    ['on a later line', '{\n  "config": nope\n}', 'line 2, column 13'],
    ['cut off', '{"config": {"name": "x"', 'line 1, column 24'],
    ['a bad escape', '{"config": {"name": "\\x"}}', 'line 1, column 22'],
    ['a bare NUL', '{"config": {"name": "\u0000"}}', 'line 1, column 22'],
    ['two values', '{} {}', 'line 1, column 4'],
    ['not JSON at all', 'hello', 'line 1, column 1'],
    ['a number that JSON does not know', '{"config": 01}', 'line 1, column 12'],
  ])('rejects %s with 400 and the position', async (_name, body, where) => {
    const answer = await api.request(400, PATH, json(body));
    expectProblem(answer, 'invalid_request');
    expect(answer.body.detail).toContain(where);
  });

  it('rejects bytes that are not UTF-8 with 400', async () => {
    const answer = await api.request(400, PATH, json(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])));
    expectProblem(answer, 'invalid_request');
    expect(answer.body.detail).toContain('UTF-8');
  });

  it.each(['42', '"text"', 'null', '[]', 'true'])('rejects JSON %s, which is not an object, with 400', async (body) => {
    const answer = await api.request(400, PATH, json(body));
    expectProblem(answer, 'invalid_request');
    expect(answer.body.detail).toBe('The body must be a JSON object.');
  });

  it('rejects a missing body with 400', async () => {
    const answer = await api.request(400, PATH, { token });
    expect(answer.body.detail).toBe('A JSON body is required.');
  });
});

describe('invalid values', () => {
  it('rejects wrong types with 400 and a pointer to every field', async () => {
    const answer = await api.request(
      400,
      PATH,
      config({ name: 7, setup_commands: 'npm ci', env: { A: 1 }, github_repos: [{ owner: 'a' }, 'b'] }),
    );
    expectProblem(answer, 'invalid_request');
    expect(answer.body.errors).toEqual([
      { pointer: '/config/name', detail: 'must be a string' },
      { pointer: '/config/github_repos/0/repo', detail: 'is required' },
      { pointer: '/config/github_repos/1', detail: 'must be an object' },
      { pointer: '/config/setup_commands', detail: 'must be an array' },
      { pointer: '/config/env/A', detail: 'must be a string' },
    ]);
    expect(answer.body.detail).toContain('`config.github_repos[0].repo` is required.');
  });

  it('rejects unknown keys, also nested ones, with 400 and their names', async () => {
    const answer = await api.request(400, PATH, {
      token,
      body: { config: { naem: 'x', providers: { azure: {} } }, extra: 1 },
    });
    expect(answer.body.errors).toEqual([
      { pointer: '/extra', detail: 'is not a known field' },
      { pointer: '/config/naem', detail: 'is not a known field (did you mean `name`?)' },
      { pointer: '/config/providers/azure', detail: 'is not a known field' },
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'rejects the key %s like any unknown key',
    async (key) => {
      const answer = await api.request(400, PATH, json(`{"config": {"${key}": {"polluted": true}}}`));
      expect(answer.body.errors).toEqual([{ pointer: `/config/${key}`, detail: 'is not a known field' }]);
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    },
  );

  it('suggests the field that was probably meant', async () => {
    const run = await api.request(400, 'POST /agent/runs', { token, body: { prompt: 'x', config: { model: 'auto' } } });
    expect(run.body.detail).toBe('`config.model` is not a known field (did you mean `model_id`?).');
  });

  it('escapes keys in pointers', async () => {
    const answer = await api.request(400, PATH, { token, body: { config: {}, 'a/b~c': 1 } });
    expect(answer.body.errors).toEqual([{ pointer: '/a~1b~0c', detail: 'is not a known field' }]);
  });

  it.each([
    ['NUL', '\\u0000'],
    ['a lone high surrogate', '\\ud83d'],
    ['a lone low surrogate', '\\ude00'],
  ])('rejects %s in a string with 400 and the field', async (_name, escape) => {
    const answer = await api.request(400, PATH, json(`{"config": {"setup_commands": ["echo", "a${escape}b"]}}`));
    expectProblem(answer, 'invalid_request');
    expect(answer.body.errors).toEqual([
      { pointer: '/config/setup_commands/1', detail: 'must not contain NUL characters or lone surrogates' },
    ]);
  });

  it('accepts a surrogate pair', async () => {
    const { body } = await api.request(201, PATH, json('{"config": {"name": "\\ud83d\\ude00"}}'));
    expect(body.config.name).toBe('😀');
  });

  it('rejects NUL in a key with 400', async () => {
    const answer = await api.request(400, PATH, json('{"config": {"env": {"A\\u0000": "x"}}}'));
    expect(answer.body.errors[0].pointer).toBe('/config/env');
  });

  it('rejects null in fields that are not nullable with 400', async () => {
    const answer = await api.request(400, PATH, config({ name: null }));
    expect(answer.body.errors).toEqual([{ pointer: '/config/name', detail: 'must be a string' }]);
  });

  it('rejects blank, too long and out of range values with 400', async () => {
    const answer = await api.request(
      400,
      PATH,
      config({ name: ' \t ', description: 'd'.repeat(2001), failure_session_retention_minutes: 61 }),
    );
    expect(answer.body.errors).toEqual([
      { pointer: '/config/name', detail: 'must not be blank' },
      { pointer: '/config/description', detail: 'must not exceed 2000 characters' },
      { pointer: '/config/failure_session_retention_minutes', detail: 'must be an integer between 1 and 60' },
    ]);
  });

  it('limits the number of errors in a response', async () => {
    const answer = await api.request(
      400,
      PATH,
      config(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 1]))),
    );
    expect(answer.body.errors).toHaveLength(100);
  });
});

describe('size and shape', () => {
  const nested = (levels: number): string => `{"config": ${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;

  it('accepts 64 levels, and rejects 65 before parsing', async () => {
    const deep = await api.request(400, PATH, json(nested(63)));
    expect(deep.body.errors).toEqual([{ pointer: '/config/a', detail: 'is not a known field' }]);
    const deeper = await api.request(400, PATH, json(nested(64)));
    expectProblem(deeper, 'invalid_request');
    expect(deeper.body.detail).toBe('The body must not exceed 64 levels of nesting.');
  });

  it('rejects a megabyte of brackets', async () => {
    const answer = await api.request(400, PATH, json('['.repeat(1_000_000)));
    expect(answer.body.detail).toBe('The body must not exceed 64 levels of nesting.');
  });

  it('ignores brackets in strings', async () => {
    await api.request(201, PATH, config({ name: '[[{{"\\' + '['.repeat(100) }));
  });

  it('rejects hundreds of thousands of values with 413', async () => {
    const answer = await api.request(413, PATH, json(`[${'1,'.repeat(300_000)}1]`));
    expectProblem(answer, 'payload_too_large');
  });

  it('rejects over 2 MB with 413 and the limit, with and without Content-Length', async () => {
    const big = JSON.stringify({ config: { description: 'x'.repeat(2_200_000) } });
    const answer = await api.request(413, PATH, json(big));
    expectProblem(answer, 'payload_too_large');
    expect(answer.body.detail).toContain('2097152');
    const chunked = await fetch(`${api.url}/api/v1/environments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: new Blob([big]).stream(),
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
    expect(await chunked.json()).toMatchObject({ error_code: 'payload_too_large' });
  });

  it('rejects a megabyte in a field with a smaller limit with 400', async () => {
    const answer = await api.request(400, PATH, config({ setup_commands: ['x'.repeat(1_000_000)] }));
    expect(answer.body.errors).toEqual([
      { pointer: '/config/setup_commands/0', detail: 'must not exceed 32768 characters' },
    ]);
  });
});

describe('media types', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    '',
  ])('%s: 415', async (contentType) => {
    const answer = await api.request(415, PATH, { token, body: Buffer.from('{"config": {}}'), contentType });
    expectProblem(answer, 'unsupported_media_type');
  });

  it.each(['application/json; charset=latin1', 'application/json; charset="utf-16"'])(
    '%s: 415',
    async (contentType) => {
      expectProblem(
        await api.request(415, PATH, { token, body: Buffer.from('{"config": {}}'), contentType }),
        'unsupported_media_type',
      );
    },
  );

  it.each(['application/json;charset=UTF-8', 'Application/JSON', 'application/merge-patch+json'])(
    'accepts %s as JSON',
    async (contentType) => {
      await api.request(201, PATH, { token, body: Buffer.from('{"config": {}}'), contentType });
    },
  );

  it('rejects a content encoding with 415', async () => {
    const answer = await api.request(415, PATH, { ...json('{}'), headers: { 'content-encoding': 'gzip' } });
    expectProblem(answer, 'unsupported_media_type');
  });
});

describe('addresses and methods', () => {
  it('rejects an unknown path with 404', async () => {
    expectProblem(await api.request(404, 'GET /agent/nothing', { token }), 'resource_not_found');
    expectProblem(await api.atOrigin(404, 'GET /nothing'), 'resource_not_found');
    expectProblem(await api.atOrigin(404, 'POST /nothing', { body: {} }), 'resource_not_found');
  });

  it('rejects an unknown path of the API without a token with 401', async () => {
    expectProblem(await api.request(401, 'GET /agent/nothing'), 'authentication_required');
  });

  it('rejects a wrong method with 405 and the allowed ones', async () => {
    const answer = await api.request(405, 'PATCH /agent/environments', { token, body: {} });
    expectProblem(answer, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    const other = await api.request(405, `PATCH /environments/${'a'.repeat(22)}`, { token, body: {} });
    expect(other.headers.get('allow')).toBe('DELETE, GET, HEAD, PUT');
    const atOrigin = await api.atOrigin(405, 'POST /health/live');
    expect(atOrigin.headers.get('allow')).toBe('GET, HEAD');
  });

  it('rejects another spelling of a path', async () => {
    await api.request(404, 'GET /Agent/Environments', { token });
    await api.request(404, 'GET //agent/environments', { token });
  });

  it('returns the URLs of the API and the ingress with a 404', async () => {
    const detailOf = async (line: string) => (await api.atOrigin(404, line, { token })).body.detail as string;
    expect(await detailOf('GET /agent/runs')).toBe(
      'No route matches this path. Paths of the API begin with /api/v1. Did you mean /api/v1/agent/runs?',
    );
    expect(await detailOf('GET /elsewhere')).toBe('No route matches this path. Paths of the API begin with /api/v1.');
    expect(await detailOf('POST /webhooks/w/0123456789abcdefABCDEF')).toContain(
      `the ingress, at ${api.settings.ingressPublicUrl}/webhooks/w/<uid>`,
    );
    expect(await detailOf('GET /api/v1/agent/nothing')).toBe('No route matches this path.');
  });

  it('rejects a malformed id with 404, and a blank one and a broken escape with 400', async () => {
    for (const id of ['short', 'a'.repeat(23), '%00'.repeat(22), '-'.repeat(22)])
      await api.request(404, `GET /environments/${id}`, { token });
    const blank = await api.request(400, 'GET /environments/%20', { token });
    expect(blank.body.detail).toBe('The path parameter `uid` must not be blank.');
    expectProblem(await api.request(400, 'GET /environments/%zz', { token }), 'invalid_request');
  });

  it('rejects unknown and malformed query parameters with 400 and their names', async () => {
    const unknown = await api.request(400, 'GET /agent/environments?sort=name', { token });
    expect(unknown.body.detail).toBe('Query parameter `sort` is not a known field (did you mean `sort_by`?).');
    const bad = await api.request(400, 'GET /agent/environments?sort_by=size', { token });
    expect(bad.body.errors).toEqual([{ pointer: '/sort_by', detail: 'must be one of name, last_updated' }]);
    const twice = await api.request(400, 'GET /agent/environments?sort_by=name&sort_by=name', { token });
    expect(twice.body.errors).toEqual([{ pointer: '/sort_by', detail: 'must be one of name, last_updated' }]);
    await api.request(400, 'GET /agent/environments?constructor[prototype][x]=1', { token });
    await api.request(400, 'GET /agent/environments?sort_by=%00', { token });
  });

  it('returns the path without the query as instance', async () => {
    const { body } = await api.request(400, `GET /agent/environments?secret=${SECRET_WORD}`, { token });
    expect(body.instance).toBe('/api/v1/agent/environments');
  });
});

describe('the request log', () => {
  it('has one line per request with trace, route, status, duration and principal, and no content', async () => {
    await api.request(400, `GET /agent/environments?x=${SECRET_WORD}`, { token });
    await api.request(400, PATH, config({ name: SECRET_WORD, unknown_key: SECRET_WORD }));
    await api.request(201, PATH, config({ name: SECRET_WORD, env: { SECRET: SECRET_WORD } }));
    await api.request(400, PATH, json(`{"config": "${SECRET_WORD}`));
    const { headers } = await api.request(404, `GET /agent/${SECRET_WORD}`, {
      token,
      headers: { 'x-secret': SECRET_WORD },
    });
    await api.request(401, 'GET /agent/environments', { token: `hr_${SECRET_WORD}` });
    expect(api.log.text).not.toContain(SECRET_WORD);
    expect(api.log.text).not.toContain(token);
    expect(api.log.errors).toEqual([]);
    const lines = api.log.lines.filter(({ msg }) => msg === 'request');
    expect(lines).toHaveLength(6);
    expect(lines[4]).toMatchObject({
      trace_id: headers.get('x-trace-id'),
      route: 'GET (unknown)',
      status: 404,
      error_code: 'resource_not_found',
    });
    expect(lines[2]).toMatchObject({
      route: 'POST /api/v1/environments',
      status: 201,
      duration_ms: expect.any(Number),
      principal: expect.any(String),
    });
    expect(lines[5]).toMatchObject({ status: 401, rejection: 'token malformed' });
  });

  it('continues a valid trace of the caller', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const given = await api.request(200, 'GET /agent/environments', {
      token,
      headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
    expect(given.headers.get('x-trace-id')).toBe(traceId);
    for (const traceparent of [
      '00-0000-x',
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `ff-${traceId}-00f067aa0ba902b7-01`,
    ]) {
      const fresh = await api.request(200, 'GET /agent/environments', { token, headers: { traceparent } });
      expect(fresh.headers.get('x-trace-id')).toMatch(/^(?!4bf92f|0{32})[0-9a-f]{32}$/);
    }
  });
});
