import { readFileSync } from 'node:fs';
import OzAPI from 'oz-agent-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { ArtifactBuilder, type BuiltRun, noteExchange } from '#testing';
import { ApiFixture, scheduleBody } from '../support/api-fixture.js';
import { FACTORY } from '../api/definitions/definition-plans.js';

/*
 * Every method of docs/api-compatibility.md that is built, called as the published client calls it. Methods that the release
 * of the client lacks are sent with its generic methods, which generated methods use too.
 */

let fixture: ApiFixture;
let oz: OzAPI;
let admin: OzAPI;
let factory: string;
/** An ended run with a conversation, a transcript and artifacts. */
let run: BuiltRun;
let artifactUid: string;
const REFERENCE = 'https://tracker.example.com/browse/ABC-1';

beforeAll(async () => {
  fixture = await ApiFixture.start();
  oz = client(fixture.member.token);
  admin = client(fixture.admin.token);
  factory = await fixture.createFactory({ name: 'Nightly' });
  run = await endedRun();
  const artifacts = new ArtifactBuilder(fixture.database, { objects: fixture.api.app.get(ObjectStore) });
  ({ uid: artifactUid } = await artifacts.build(run.id, { type: 'FILE', content: 'report\n' }));
  await artifacts.build(run.id, { type: 'PULL_REQUEST', url: 'https://forge.example.com/pr/1' });
  await artifacts.build(run.id, { type: 'EXTERNAL_REFERENCE', url: REFERENCE });
});
afterAll(() => fixture.close());

const endedRun = () =>
  fixture.runs.build({
    by: fixture.member,
    team: fixture.team,
    state: 'SUCCEEDED',
    config: { harness: { type: 'claude' } },
    transcript: 'raw\n',
    transcriptFormat: 'claude',
  });

const workingRun = () => fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'INPROGRESS' });

function client(token: string): OzAPI {
  return new OzAPI({
    apiKey: token,
    baseURL: `${fixture.api.url}/api/v1`,
    maxRetries: 0,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const response = await fetch(request);
      // A download follows the redirect to the signed address, which is no operation.
      if (!response.redirected)
        noteExchange(request.method, request.url.slice(`${fixture.api.url}/api/v1`.length), response.status);
      return response;
    },
  });
}

const get = (path: string, query: object = {}): Promise<unknown> => oz.get(path, { query });
const post = (path: string, body?: object): Promise<unknown> => oz.post(path, body === undefined ? {} : { body });
const download = async (path: string): Promise<string> => {
  const response = await oz.get(path, { headers: { Accept: 'application/octet-stream' } }).asResponse();
  return response.text();
};
const schedule = () => oz.agent.schedules.create(scheduleBody() as never);
const identity = async () => (await fixture.createIdentity()) as { uid: string };
const SCHEMAS = '/factory-files/schemas';

/** By method: a call, and what of its response shows that it works. */
const CALLS: Readonly<Record<string, readonly [call: () => Promise<unknown>, expected: unknown]>> = {
  'agent.list': [() => oz.agent.list(), { agents: expect.any(Array) }],
  'agent.run': [
    () => oz.agent.run({ prompt: 'Go.', config: { idle_timeout_minutes: 0, secrets: [] } as never }),
    { run_id: expect.any(String), state: 'QUEUED' },
  ],
  'agent.getArtifact': [
    () => get(`/agent/artifacts/${artifactUid}`),
    {
      artifact_type: 'FILE',
      source_links: { run_url: expect.any(String), pull_request_urls: ['https://forge.example.com/pr/1'] },
    },
  ],
  'agent.downloadArtifact': [() => download(`/agent/artifacts/${artifactUid}/download`), 'report\n'],
  'agent.getRunByExternalReference': [
    () => get('/agent/run-by-external-reference', { url: REFERENCE }),
    { run_id: expect.any(String) },
  ],
  'agent.listEnvironments': [() => get('/agent/environments', { sort_by: 'name' }), { environments: [] }],
  'agent.listModels': [() => get('/agent/models'), { default_model_id: expect.any(String) }],
  'agent.runs.retrieve': [
    () => oz.agent.runs.retrieve(run.id),
    {
      root_run_id: expect.any(String),
      finished_at: null,
      submitted_prompt: expect.any(String),
      artifacts: expect.arrayContaining([expect.objectContaining({ artifact_type: 'PULL_REQUEST' })]),
    },
  ],
  'agent.runs.list': [
    () =>
      get('/agent/runs', {
        source: ['API', 'MCP'],
        factory_only: false,
        task_status: ['complete', 'running'],
        q: `${fixture.api.url}/runs/${run.id}`,
      }),
    { runs: [{ root_run_id: expect.any(String), finished_at: null }], page_info: { has_next_page: false } },
  ],
  'agent.runs.cancel': [
    async () => oz.agent.runs.cancel((await oz.agent.run({ prompt: 'Go.' })).run_id),
    expect.any(String),
  ],
  'agent.runs.getConversation': [() => get(`/agent/runs/${run.id}/conversation`), { steps: expect.any(Array) }],
  'agent.runs.getHarnessUsage': [() => get(`/agent/runs/${run.id}/harness-usage`), { available: false }],
  'agent.runs.getTimeline': [() => get(`/agent/runs/${run.id}/timeline`), { events: expect.any(Array) }],
  'agent.runs.getTranscript': [() => download(`/agent/runs/${run.id}/transcript`), 'raw\n'],
  'agent.runs.listHandoffAttachments': [() => get(`/agent/runs/${run.id}/handoff/attachments`), { attachments: [] }],
  'agent.runs.interrupt': [async () => post(`/agent/runs/${(await workingRun()).id}/interrupt`), {}],
  'agent.runs.submitFollowup': [
    async () => post(`/agent/runs/${(await endedRun()).id}/followups`, { message: 'Continue.' }),
    { followup_id: expect.any(String), outcome: 'handoff_execution' },
  ],
  'agent.conversations.retrieve': [
    () => get(`/agent/conversations/${run.conversationId ?? ''}`),
    { steps: expect.any(Array) },
  ],
  'agent.conversations.checkRedirect': [
    () => get(`/agent/conversations/${run.conversationId ?? ''}/redirect`),
    { session_id: expect.any(String) },
  ],
  'agent.conversations.getTranscript': [
    () => download(`/agent/conversations/${run.conversationId ?? ''}/transcript`),
    'raw\n',
  ],
  'agent.conversations.interrupt': [
    async () => post(`/agent/conversations/${(await workingRun()).conversationId ?? ''}/interrupt`),
    { run_id: expect.any(String) },
  ],
  'agent.conversations.submitFollowup': [
    async () => post(`/agent/conversations/${(await endedRun()).conversationId ?? ''}/followups`, {}),
    { followup_id: expect.any(String), outcome: 'handoff_execution', run_id: expect.any(String) },
  ],
  'agent.sessions.checkRedirect': [
    () => get(`/agent/sessions/session-${run.id}/redirect`),
    { conversation_id: expect.any(String) },
  ],
  'agent.schedules.create': [schedule, { enabled: true }],
  'agent.schedules.retrieve': [
    async () => oz.agent.schedules.retrieve((await schedule()).id),
    { id: expect.any(String) },
  ],
  'agent.schedules.update': [
    async () => oz.agent.schedules.update((await schedule()).id, scheduleBody({ name: 'weekly' }) as never),
    { name: 'weekly' },
  ],
  'agent.schedules.delete': [async () => oz.agent.schedules.delete((await schedule()).id), { success: true }],
  'agent.schedules.list': [() => oz.agent.schedules.list(), { schedules: expect.any(Array) }],
  'agent.schedules.pause': [async () => oz.agent.schedules.pause((await schedule()).id), { enabled: false }],
  'agent.schedules.resume': [async () => oz.agent.schedules.resume((await schedule()).id), { enabled: true }],
  'agent.agent.create': [
    () => admin.post('/agent/identities', { body: { name: 'fixer', harness: { type: 'oz', model_id: '' } } }),
    { name: 'fixer', harness: { type: 'oz' } },
  ],
  'agent.agent.list': [() => get('/agent/identities'), { agents: expect.any(Array) }],
  'agent.agent.get': [
    async () => get(`/agent/identities/${(await identity()).uid}`),
    { memory: { attached_stores: [] } },
  ],
  'agent.agent.update': [
    async () => admin.put(`/agent/identities/${(await identity()).uid}`, { body: { description: 'Fixes.' } }),
    { description: 'Fixes.' },
  ],
  // The client reads an answer without a body as null.
  'agent.agent.delete': [async () => admin.delete(`/agent/identities/${(await identity()).uid}`), null],
  'factories.list': [() => get('/factory', { search: 'night', limit: 50 }), { factories: [{ name: 'Nightly' }] }],
  'factories.get': [() => get(`/factory/${factory}`), { name: 'Nightly' }],
  'factories.runs.create': [
    () => post(`/factory/${factory}/runs`, { prompt: 'Go.', ticket_ref: 'tracker:ABC-1' }),
    { factory_uid: expect.any(String), ticket_ref: 'tracker:ABC-1' },
  ],
  'factories.files.validate': [
    () => post('/factory-files/validate', { files: [{ path: 'factory.yaml', content: FACTORY }] }),
    { valid: true, schema_version: 'v1alpha1', validation_scope: { parser: 'checked' } },
  ],
  'factories.files.schemas.list': [() => get(SCHEMAS), { current_version: 'v1alpha1' }],
  'factories.files.schemas.retrieve': [
    () => get(`${SCHEMAS}/v1alpha1`),
    { documents: { 'factory.schema.json': expect.any(Object) } },
  ],
  'factories.files.schemas.getDocument': [
    () => get(`${SCHEMAS}/v1alpha1/factory.schema.json`),
    { $schema: 'https://json-schema.org/draft/2020-12/schema' },
  ],
};

interface Row {
  readonly method: string;
  readonly operation: string;
  readonly status: string;
}

const TABLE: readonly Row[] = readFileSync(new URL('../../docs/api-compatibility.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line): Row[] => {
    const [, method, operation, status] = /^\| `([\w.]+)`\s*\| `([A-Z]+ [^`]+)`\s*\| (\S.*?)\s*\|/.exec(line) ?? [];
    return method === undefined || operation === undefined || status === undefined
      ? []
      : [{ method, operation, status }];
  });

describe('methods of the published client', () => {
  it.each(Object.keys(CALLS))('%s succeeds', async (method) => {
    const [call, expected] = CALLS[method] ?? [() => Promise.resolve(), undefined];
    const result = await call();
    if (typeof expected === 'object' && expected !== null && !('asymmetricMatch' in expected))
      expect(result).toMatchObject(expected);
    else expect(result ?? null).toEqual(expected);
  });

  it('are those of docs/api-compatibility.md, with the operations of openapi.json', async () => {
    expect(TABLE.length).toBeGreaterThan(60);
    const built = TABLE.filter(({ status }) => status === 'works' || status === 'differs');
    expect(built.map(({ method }) => method).sort()).toEqual(Object.keys(CALLS).sort());
    expect(TABLE.filter((row) => !built.includes(row) && row.status !== 'not built')).toEqual([]);
    const { body } = await fixture.api.atOrigin(200, 'GET /openapi.json');
    const documented = new Set(
      Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    for (const { operation, status } of TABLE)
      expect([operation, documented.has(operation)]).toEqual([operation, status !== 'not built']);
  });
});
