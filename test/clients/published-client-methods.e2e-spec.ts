import OzAPI from 'oz-agent-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiFixture } from '../support/api-fixture.js';
import { scheduleBody } from '../support/api-fixture.js';
import { FACTORY } from '../api/definitions/definition-plans.js';
import { BUILT, expectResult, PublishedMethods, TABLE } from './published-methods.js';

/*
 * Every method of docs/api-compatibility.md that is built, called as the published client calls it. Methods that the release
 * of the client lacks are sent with its generic methods, which generated methods use too. newest-client.e2e-spec.ts calls the
 * methods of its newest source.
 */

let methods: PublishedMethods;
let fixture: ApiFixture;
let oz: OzAPI;
let admin: OzAPI;

beforeAll(async () => {
  methods = await PublishedMethods.start();
  ({ fixture } = methods);
  oz = new OzAPI(methods.optionsOf(fixture.member.token));
  admin = new OzAPI(methods.optionsOf(fixture.admin.token));
});
afterAll(() => methods.close());

const get = (path: string, query: object = {}): Promise<unknown> => oz.get(path, { query });
const post = (path: string, body?: object): Promise<unknown> => oz.post(path, body === undefined ? {} : { body });
const download = async (path: string): Promise<string> => {
  const response = await oz.get(path, { headers: { Accept: 'application/octet-stream' } }).asResponse();
  return response.text();
};
const schedule = () => oz.agent.schedules.create(scheduleBody() as never);
const identity = async () => (await fixture.createIdentity()) as { uid: string };
const SCHEMAS = '/factory-files/schemas';

/** By method. */
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  'agent.list': () => oz.agent.list(),
  'agent.run': () => oz.agent.run({ prompt: 'Go.', config: { idle_timeout_minutes: 0, secrets: [] } as never }),
  'agent.getArtifact': () => get(`/agent/artifacts/${methods.artifactUid}`),
  'agent.downloadArtifact': () => download(`/agent/artifacts/${methods.artifactUid}/download`),
  'agent.getRunByExternalReference': () => get('/agent/run-by-external-reference', { url: PublishedMethods.REFERENCE }),
  'agent.listEnvironments': () => get('/agent/environments', { sort_by: 'name' }),
  'agent.listModels': () => get('/agent/models'),
  'agent.runs.retrieve': () => oz.agent.runs.retrieve(methods.run.id),
  'agent.runs.list': () =>
    get('/agent/runs', {
      source: ['API', 'MCP'],
      factory_only: false,
      task_status: ['complete', 'running'],
      q: `${fixture.api.url}/runs/${methods.run.id}`,
    }),
  'agent.runs.cancel': async () => oz.agent.runs.cancel((await oz.agent.run({ prompt: 'Go.' })).run_id),
  'agent.runs.getConversation': () => get(`/agent/runs/${methods.run.id}/conversation`),
  'agent.runs.getHarnessUsage': () => get(`/agent/runs/${methods.run.id}/harness-usage`),
  'agent.runs.getTimeline': () => get(`/agent/runs/${methods.run.id}/timeline`),
  'agent.runs.getTranscript': () => download(`/agent/runs/${methods.run.id}/transcript`),
  'agent.runs.listHandoffAttachments': () => get(`/agent/runs/${methods.run.id}/handoff/attachments`),
  'agent.runs.interrupt': async () => post(`/agent/runs/${(await methods.workingRun()).id}/interrupt`),
  'agent.runs.submitFollowup': async () =>
    post(`/agent/runs/${(await methods.endedRun()).id}/followups`, { message: 'Continue.' }),
  'agent.conversations.retrieve': () => get(`/agent/conversations/${methods.run.conversationId ?? ''}`),
  'agent.conversations.checkRedirect': () => get(`/agent/conversations/${methods.run.conversationId ?? ''}/redirect`),
  'agent.conversations.getTranscript': () =>
    download(`/agent/conversations/${methods.run.conversationId ?? ''}/transcript`),
  'agent.conversations.interrupt': async () =>
    post(`/agent/conversations/${(await methods.workingRun()).conversationId ?? ''}/interrupt`),
  'agent.conversations.submitFollowup': async () =>
    post(`/agent/conversations/${(await methods.endedRun()).conversationId ?? ''}/followups`, {}),
  'agent.sessions.checkRedirect': () => get(`/agent/sessions/session-${methods.run.id}/redirect`),
  'agent.schedules.create': schedule,
  'agent.schedules.retrieve': async () => oz.agent.schedules.retrieve((await schedule()).id),
  'agent.schedules.update': async () =>
    oz.agent.schedules.update((await schedule()).id, scheduleBody({ name: 'weekly' }) as never),
  'agent.schedules.delete': async () => oz.agent.schedules.delete((await schedule()).id),
  'agent.schedules.list': () => oz.agent.schedules.list(),
  'agent.schedules.pause': async () => oz.agent.schedules.pause((await schedule()).id),
  'agent.schedules.resume': async () => oz.agent.schedules.resume((await schedule()).id),
  'agent.agent.create': () =>
    admin.post('/agent/identities', { body: { name: 'fixer', harness: { type: 'oz', model_id: '' } } }),
  'agent.agent.list': () => get('/agent/identities'),
  'agent.agent.get': async () => get(`/agent/identities/${(await identity()).uid}`),
  'agent.agent.update': async () =>
    admin.put(`/agent/identities/${(await identity()).uid}`, { body: { description: 'Fixes.' } }),
  'agent.agent.delete': async () => admin.delete(`/agent/identities/${(await identity()).uid}`),
  'factories.list': () => get('/factory', { search: 'night', limit: 50 }),
  'factories.get': () => get(`/factory/${methods.factory}`),
  'factories.runs.create': () =>
    post(`/factory/${methods.factory}/runs`, { prompt: 'Go.', ticket_ref: 'tracker:ABC-1' }),
  'factories.files.validate': () =>
    post('/factory-files/validate', { files: [{ path: 'factory.yaml', content: FACTORY }] }),
  'factories.files.schemas.list': () => get(SCHEMAS),
  'factories.files.schemas.retrieve': () => get(`${SCHEMAS}/v1alpha1`),
  'factories.files.schemas.getDocument': () => get(`${SCHEMAS}/v1alpha1/factory.schema.json`),
};

describe('methods of the published client', () => {
  it.each(Object.keys(CALLS))('%s succeeds', async (method) => {
    expectResult(method, await CALLS[method]?.());
  });

  it('are those of docs/api-compatibility.md, with the operations of openapi.json', async () => {
    expect(TABLE.length).toBeGreaterThan(60);
    expect(BUILT.map(({ method }) => method).sort()).toEqual(Object.keys(CALLS).sort());
    expect(TABLE.filter((row) => !BUILT.includes(row) && row.status !== 'not built')).toEqual([]);
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
