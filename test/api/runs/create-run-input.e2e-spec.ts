import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

/** Stands where secrets and other private things may stand in a request that is refused. */
const PRIVATE = 'tell-nobody-5e2d';
const UNSTORABLE = 'must not contain NUL characters or lone surrogates';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

let accepted = 0;

const post = (status: number, body: unknown): Promise<TestResponse> => {
  if (status === 200) accepted += 1;
  return fixture.request(status, 'POST /agent/runs', { token: fixture.member.token, body });
};
/** The body as text, sent as JSON. */
const postText = (status: number, body: string | Buffer): Promise<TestResponse> =>
  fixture.request(status, 'POST /agent/runs', { token: fixture.member.token, body, contentType: 'application/json' });

async function refused(
  body: unknown,
  ...errors: readonly (readonly [pointer: string, detail: string])[]
): Promise<void> {
  const answer = await post(400, body);
  expectProblem(
    fixture.api,
    answer,
    'invalid_request',
    errors.map(([pointer, detail]) => ({ pointer, detail })),
  );
  expect(answer.text + fixture.api.log.text).not.toContain(PRIVATE);
}

describe('the prompt', () => {
  it.each([
    ['missing', {}, 'is required'],
    ['null', { prompt: null }, 'must be a string'],
    ['empty', { prompt: '' }, 'must not be blank'],
    ['blank', { prompt: ' \n\t  ' }, 'must not be blank'],
    ['a number', { prompt: 7 }, 'must be a string'],
    ['a list', { prompt: [PRIVATE] }, 'must be a string'],
    ['an object', { prompt: { toString: PRIVATE } }, 'must be a string'],
  ])('%s: 400', async (_name, body, detail) => {
    await refused(body, ['/prompt', detail]);
  });

  it('of 1 MiB is accepted, and one byte more is rejected with 413', async () => {
    const prompt = `${'x'.repeat(1_048_574)}é`;
    const { body } = await post(200, { prompt });
    expect(
      (await fixture.request(200, `GET /agent/runs/${body.run_id}`, { token: fixture.member.token })).body.prompt,
    ).toBe(prompt);
    for (const more of [`${prompt}x`, 'é'.repeat(524_289)]) {
      expectProblem(fixture.api, await post(413, { prompt: more }), 'payload_too_large', [
        { pointer: '/prompt', detail: 'must not exceed 1048576 bytes in UTF-8' },
      ]);
    }
  });
});

const TOKENS = 'must be an integer between 1 and 9007199254740991';
const RESERVED = 'must be exactly `warp`, for hosted workers, or a name that does not begin with it, in any case';

describe('the configuration', () => {
  it('of 512 KiB of JSON is accepted, and one byte more is rejected with 413', async () => {
    const sized = (env: object) => ({
      config: { base_prompt: 'x'.repeat(262_144), mcp_servers: { local: { command: 'serve', env } } },
    });
    const env = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`KEY_${index}`, 'x'.repeat(32_768)]));
    const left = 524_288 - JSON.stringify(sized({ ...env, LAST: '' }).config).length;
    await post(200, { prompt: 'Go.', ...sized({ ...env, LAST: 'x'.repeat(left) }) });
    expectTooLarge(await post(413, { prompt: 'Go.', ...sized({ ...env, LAST: 'x'.repeat(left + 1) }) }));
    // A sign of two bytes is one character.
    expectTooLarge(await post(413, { prompt: 'Go.', ...sized({ ...env, LAST: `${'x'.repeat(left - 1)}é` }) }));
  });

  function expectTooLarge(answer: TestResponse): void {
    const detail = 'must not exceed 524288 bytes as JSON, with what the agent identity brings';
    expectProblem(fixture.api, answer, 'payload_too_large', [{ pointer: '/config', detail }]);
  }
});

describe('values of the wrong type', () => {
  it.each<[string, object, ...[string, string][]]>([
    ['config', { config: 'fast' }, ['/config', 'must be an object']],
    ['config as a list', { config: [] }, ['/config', 'must be an object']],
    ['null for config', { config: null }, ['/config', 'must be an object']],
    ['title', { title: 7 }, ['/title', 'must be a string']],
    ['a blank title', { title: ' ' }, ['/title', 'must not be blank']],
    ['a long title', { title: 't'.repeat(513) }, ['/title', 'must not exceed 512 characters']],
    ['mode', { mode: 'fast' }, ['/mode', 'must be one of normal, plan, orchestrate']],
    ['team', { team: 'yes' }, ['/team', 'must be true or false']],
    ['interactive', { interactive: 1 }, ['/interactive', 'must be true or false']],
    ['skill', { skill: [] }, ['/skill', 'must be a string']],
    ['attachments', { attachments: [{ file_name: 'a', data: PRIVATE }] }, ['/attachments/0/mime_type', 'is required']],
    [
      'six attachments',
      { attachments: Array.from({ length: 6 }, () => ({ file_name: 'a', mime_type: 'text/plain', data: '' })) },
      ['/attachments', 'must not exceed 5 entries'],
    ],
    ['parent_run_id', { parent_run_id: 3 }, ['/parent_run_id', 'must be a string']],
    [
      'several at once',
      { title: 7, mode: '', config: { name: 1 } },
      ['/config/name', 'must be a string'],
      ['/title', 'must be a string'],
      ['/mode', 'must be one of normal, plan, orchestrate'],
    ],
  ])('%s is rejected with 400 and a pointer to the field', async (_name, body, ...errors) => {
    await refused({ prompt: 'x', ...body }, ...errors);
  });

  it('unknown keys are named', async () => {
    await refused(
      { prompt: 'x', promt: PRIVATE, config: { nmae: PRIVATE, harness: { modle: PRIVATE } } },
      ['/promt', 'is not a known field (did you mean `prompt`?)'],
      ['/config/nmae', 'is not a known field (did you mean `name`?)'],
      ['/config/harness/modle', 'is not a known field'],
    );
  });

  it.each([
    ['{"prompt": "x", "__proto__": {"team": true}}', '/__proto__'],
    ['{"prompt": "x", "config": {"__proto__": {"worker_host": "w"}}}', '/config/__proto__'],
    ['{"prompt": "x", "metadata": {"__proto__": "v"}}', '/metadata/__proto__'],
    ['{"prompt": "x", "config": {"mcp_servers": {"__proto__": {"command": "c"}}}}', '/config/mcp_servers/__proto__'],
    ['{"prompt": "x", "config": {"constructor": {"prototype": {"polluted": 1}}}}', '/config/constructor'],
  ])('%s is rejected as an unknown key', async (body, pointer) => {
    const answer = await postText(400, body);
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail: 'is not a known field' }]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('text that cannot be stored', () => {
  /** Where text may stand in a request, with the pointer to it. */
  const PLACES: readonly [pointer: string, body: (text: string) => object][] = [
    ['/prompt', (text) => ({ prompt: text })],
    ['/title', (text) => ({ title: text })],
    ['/skill', (text) => ({ skill: text })],
    ['/metadata/key', (text) => ({ metadata: { key: text } })],
    ['/config/name', (text) => ({ config: { name: text } })],
    ['/config/model_id', (text) => ({ config: { model_id: text } })],
    ['/config/base_prompt', (text) => ({ config: { base_prompt: text } })],
    ['/config/worker_host', (text) => ({ config: { worker_host: text } })],
    ['/config/skill_spec', (text) => ({ config: { skill_spec: text } })],
    ['/config/skills/1', (text) => ({ config: { skills: ['a:b', text] } })],
    ['/config/harness/type', (text) => ({ config: { harness: { type: text } } })],
    [
      '/config/mcp_servers/one/args/0',
      (text) => ({ config: { mcp_servers: { one: { command: 'c', args: [text] } } } }),
    ],
    [
      '/config/mcp_servers/one/env/KEY',
      (text) => ({ config: { mcp_servers: { one: { command: 'c', env: { KEY: text } } } } }),
    ],
    [
      '/config/mcp_servers/one/headers/Key',
      (text) => ({ config: { mcp_servers: { one: { url: 'https://a.test', headers: { Key: text } } } } }),
    ],
    [
      '/config/permission_allow_list/0',
      (text) => ({ config: { permission_policy: 'allow_list', permission_allow_list: [text] } }),
    ],
    ['/attachments/0/data', (text) => ({ attachments: [{ file_name: 'a', mime_type: 'b', data: text }] })],
    ['/agent_identity_uid', (text) => ({ agent_identity_uid: text })],
    ['/parent_run_id', (text) => ({ parent_run_id: text })],
    ['/conversation_id', (text) => ({ conversation_id: text })],
  ];

  it.each(PLACES)(
    'NUL and lone surrogates in %s are rejected with 400 and a pointer to the field',
    async (pointer, body) => {
      for (const unstorable of ['a\0b', 'a\ud83d', '\ude00b'])
        await refused({ prompt: 'x', ...body(unstorable) }, [pointer, UNSTORABLE]);
    },
  );

  it('in a key is rejected with 400 and a pointer to the object', async () => {
    await refused({ prompt: 'x', metadata: { 'a\0': 'b' } }, [
      '/metadata',
      'has a key with a NUL character or a lone surrogate',
    ]);
  });
});

describe('the configuration', () => {
  const wrongConfig = (config: object, ...errors: readonly (readonly [string, string])[]) =>
    refused({ prompt: 'x', config }, ...errors.map(([pointer, detail]) => [`/config${pointer}`, detail] as const));

  it.each<[string, object, string, string]>([
    ['a malformed environment', { environment_id: 'short' }, '/environment_id', 'must be exactly 22 letters or digits'],
    ['a blank environment', { environment_id: '' }, '/environment_id', 'must be exactly 22 letters or digits'],
    [
      'a skill without its repository',
      { skill_spec: 'review' },
      '/skill_spec',
      'must be `owner/repo:skill-name` or `owner/repo:path/to/SKILL.md`',
    ],
    ['a reserved worker', { worker_host: 'warp-1' }, '/worker_host', RESERVED],
    ['hosted workers in another case', { worker_host: 'WARP' }, '/worker_host', RESERVED],
    [
      'a worker that could not connect',
      { worker_host: ' build-1' },
      '/worker_host',
      'must neither begin or end with a space nor have an invisible character',
    ],
    ['no skills', { skills: [] }, '/skills', 'must have at least 1 entries'],
    ['too many minutes', { idle_timeout_minutes: 61 }, '/idle_timeout_minutes', 'must be an integer between 0 and 60'],
    ['half a minute', { idle_timeout_minutes: 0.5 }, '/idle_timeout_minutes', 'must be an integer between 0 and 60'],
    ['minutes as text', { idle_timeout_minutes: '10' }, '/idle_timeout_minutes', 'must be an integer between 0 and 60'],
    [
      'a policy that nobody knows',
      { permission_policy: 'sometimes' },
      '/permission_policy',
      'must be one of allow, deny, ask, allow_list',
    ],
    [
      'an allow list without its policy',
      { permission_allow_list: ['ls'] },
      '/permission_allow_list',
      'needs permission_policy allow_list',
    ],
    [
      'a secret of no harness',
      { harness_auth_secrets: { claude: PRIVATE } },
      '/harness_auth_secrets/claude',
      'is not a valid key: it must be `<harness>_auth_secret_name`',
    ],
    [
      'skill_spec and skills',
      { skill_spec: 'a/b:c', skills: ['a/b:c'] },
      '/skills',
      'must not be given together with skill_spec',
    ],
    ['a negative cost', { max_cost_usd: -1 }, '/max_cost_usd', 'must be a number between 0 and 1000000000'],
    [
      'more than all the money',
      { max_cost_usd: 1e9 + 1 },
      '/max_cost_usd',
      'must be a number between 0 and 1000000000',
    ],
    ['no tokens', { max_tokens: 0 }, '/max_tokens', TOKENS],
    ['more tokens than can be counted', { max_tokens: 2 ** 53 }, '/max_tokens', TOKENS],
    ['far more tokens', { max_tokens: 1e300 }, '/max_tokens', TOKENS],
    [
      'a strategy that nobody knows',
      { credential_strategy: 'NOBODY' },
      '/credential_strategy',
      'must be one of CREATOR, EXECUTOR',
    ],
    [
      'a long base prompt',
      { base_prompt: 'é'.repeat(131_073) },
      '/base_prompt',
      'must not exceed 262144 bytes in UTF-8',
    ],
  ])('%s: 400', async (_name, config, pointer, detail) => {
    await wrongConfig(config, [pointer, detail]);
  });

  const WAYS = 'must have exactly one of warp_id, command and url';

  it('MCP servers without exactly one transport are rejected', async () => {
    await wrongConfig(
      {
        mcp_servers: {
          both: { command: 'c', url: 'https://a.test', env: { A: PRIVATE } },
          all: { command: 'c', url: 'https://a.test', warp_id: 'w' },
          none: {},
          good: { command: 'c' },
        },
      },
      ['/mcp_servers/both', WAYS],
      ['/mcp_servers/all', WAYS],
      ['/mcp_servers/none', WAYS],
    );
  });

  it('pointers escape the special characters of keys', async () => {
    await wrongConfig({ mcp_servers: { 'a/b~c': {} } }, ['/mcp_servers/a~1b~0c', WAYS]);
  });

  it('MCP servers of the wrong kind', async () => {
    await wrongConfig({ mcp_servers: { one: 'npx' } }, ['/mcp_servers/one', 'must be an object']);
    await wrongConfig({ mcp_servers: { one: { url: 'ftp://a.test' } } }, [
      '/mcp_servers/one/url',
      'must be an http or https URL',
    ]);
    await wrongConfig({ mcp_servers: { one: { url: `https://bot:${PRIVATE}@a.test/mcp` } } }, [
      '/mcp_servers/one/url',
      'must not contain a user or password: send them in headers',
    ]);
    await wrongConfig({ mcp_servers: { one: { command: 'c', env: { A: 1 } } } }, [
      '/mcp_servers/one/env/A',
      'must be a string',
    ]);
    await wrongConfig({ mcp_servers: 'npx' }, ['/mcp_servers', 'must be an object']);
    await wrongConfig({ mcp_servers: [{ command: 'c', url: 'https://a.test' }] }, ['/mcp_servers/0', WAYS]);
    await wrongConfig({ mcp_servers: [{ command: 'c' }, { command: 'd', name: 'server-1' }] }, [
      '/mcp_servers/1/name',
      'is the name of two servers: server-1',
    ]);
  });
});

describe('metadata', () => {
  const entries = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
  const KEY = 'is not a valid key: it must be 1 to 64 of A-Z a-z 0-9 . _ -';

  it('with 20 keys of 64 characters and values of 256 bytes is accepted', async () => {
    await post(200, { prompt: 'x', metadata: { ...entries(19), ['k'.repeat(64)]: 'é'.repeat(128) } });
    await post(200, { prompt: 'x', metadata: {} });
  });

  it.each<[string, unknown, string, string]>([
    ['21 keys', entries(21), '/metadata', 'must not exceed 20 entries'],
    ['65 characters', { ['k'.repeat(65)]: 'v' }, `/metadata/${'k'.repeat(65)}`, KEY],
    ['no character', { '': 'v' }, '/metadata/', KEY],
    ['a space', { 'a b': 'v' }, '/metadata/a b', KEY],
    ['257 bytes', { k: `${'é'.repeat(128)}x` }, '/metadata/k', 'must not exceed 256 bytes in UTF-8'],
    ['a number', { k: 1 }, '/metadata/k', 'must be a string'],
    ['null', { k: null }, '/metadata/k', 'must be a string'],
    ['a list', ['v'], '/metadata', 'must be an object'],
  ])('%s: 400', async (_name, metadata, pointer, detail) => {
    await refused({ prompt: 'x', metadata }, [pointer, detail]);
  });
});

describe('the body as a whole', () => {
  it('that is not a JSON object is rejected with 400', async () => {
    expectProblem(fixture.api, await postText(400, '{"prompt": "x",}'), 'invalid_request');
    expectProblem(fixture.api, await postText(400, '["x"]'), 'invalid_request', [
      { pointer: '', detail: 'must be an object' },
    ]);
    expectProblem(
      fixture.api,
      await fixture.request(400, 'POST /agent/runs', { token: fixture.member.token }),
      'invalid_request',
      [{ pointer: '', detail: 'is required' }],
    );
  });

  it('with more than 64 levels is rejected with 400, also with a megabyte of brackets', async () => {
    const nested = (levels: number) =>
      `{"prompt": "x", "config": ${'{"harness":'.repeat(levels)}1${'}'.repeat(levels)}}`;
    expectProblem(fixture.api, await postText(400, nested(2)), 'invalid_request', [
      { pointer: '/config/harness/harness', detail: 'is not a known field' },
    ]);
    const deep = await postText(400, nested(64));
    expectProblem(fixture.api, deep, 'invalid_request');
    expect(deep.body.detail).toBe('The body must not exceed 64 levels of nesting.');
    expectProblem(fixture.api, await postText(400, `{"prompt": ${'['.repeat(1_000_000)}`), 'invalid_request');
  });

  it('over 20 MB is rejected with 413 and the limit', async () => {
    const answer = await postText(
      413,
      Buffer.concat([Buffer.from('{"prompt": "'), Buffer.alloc(20 * 1_048_576, 'x'), Buffer.from('"}')]),
    );
    expectProblem(fixture.api, answer, 'payload_too_large');
    expect(answer.body.detail).toContain('20971520');
  });

  it('of another media type is rejected with 415', async () => {
    const answer = await fixture.request(415, 'POST /agent/runs', {
      token: fixture.member.token,
      body: 'prompt=x',
      contentType: 'application/x-www-form-urlencoded',
    });
    expectProblem(fixture.api, answer, 'unsupported_media_type');
  });

  it('with an empty list of attachments is accepted', () => post(200, { prompt: 'x', attachments: [] }));

  it('with an unknown conversation is rejected', () =>
    refused({ prompt: 'x', conversation_id: '01900000-0000-7000-8000-00000000dead' }, [
      '/conversation_id',
      'must be a conversation that exists and that you may see',
    ]));

  it('creates no run when it is rejected', async () => {
    const [row] = await fixture.database.query<{ known: number }>('SELECT count(*)::int AS known FROM runs');
    expect(row?.known).toBe(accepted);
  });
});
