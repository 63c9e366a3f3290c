import type { OpenAPIObject } from '@nestjs/swagger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunBuilder, startTestApi, type TestApi, type TestPrincipal, TestRunner, FactoryBuilder } from '#testing';
import { ObjectStore } from '#platform/storage';
import { inTeam } from '../../support/api-requests.js';

interface Operation {
  readonly operationId: string;
  readonly requestBody?: {
    readonly content: Record<string, { examples?: Record<string, { summary: string; value: object }> }>;
  };
  readonly responses: Readonly<Record<string, unknown>>;
}

/** What the request of an operation needs besides its example. */
interface Completion {
  /** Path parameters by name. */
  readonly path?: Readonly<Record<string, string>>;
  /** Fields of the example that only the installation knows. */
  readonly fill?: object;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let api: TestApi;
let document: OpenAPIObject;
let admin: TestPrincipal;
let colleague: TestPrincipal;
let runs: RunBuilder;
let team: string;
let factoryUid: string;

beforeAll(async () => {
  api = await startTestApi({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  document = (await api.atOrigin(200, 'GET /openapi.json')).body as OpenAPIObject;
  team = await api.identities.team();
  admin = await api.identities.user({ [team]: 'admin' });
  colleague = await api.identities.user({ [team]: 'member' });
  runs = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
  factoryUid = await new FactoryBuilder(api.database).build({ teamUid: team });
});
afterAll(() => api.close());

const operations = (): { line: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      line: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

const exampleOf = ({ requestBody }: Operation) => requestBody?.content['application/json']?.examples?.example;

/** Sends the example of an operation and expects its documented success. */
async function send(id: string, { path = {}, fill, token = admin.token, headers }: Completion = {}) {
  const found = operations().find(({ operation }) => operation.operationId === id);
  const example = found && exampleOf(found.operation);
  if (!found || !example) throw new Error(`${id} has no request example.`);
  const status = Number(Object.keys(found.operation.responses).find((code) => code.startsWith('2')));
  const line = found.line.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? `{${name}}`);
  sent.add(id);
  return (await api.request(status, line, { token, headers, body: { ...example.value, ...fill } })).body;
}

const sent = new Set<string>();

describe('the request examples of the OpenAPI document', () => {
  it('create and continue runs as they are', async () => {
    await send('runAgent');
    const { run_id: runId } = await send('createRun');
    await send('submitRunFollowup', { path: { runId } });
    const { conversationId } = await runs.build({ by: admin, team, state: 'SUCCEEDED' });
    await send('submitConversationFollowup', { path: { conversation_id: conversationId ?? '' } });
    await send('prepareRunAttachments', { path: { runId } });
    await send('prepareConversationAttachments', { path: { conversation_id: conversationId ?? '' } });
    await send('rerunRun', { path: { runId } });
    const { run_id: stored } = await send('createRun');
    const runner = await TestRunner.take(api, stored);
    await runner.startAgent();
    await runner.snapshot();
    await send('forkRun', { path: { runId: stored } });
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    await runner.finish();
    await send('registerExternalFollowup', { path: { runId: stored } });
    await send('registerExternalRun');
    const blocked = await runs.build({ by: admin, team, state: 'BLOCKED' });
    await send('decideRunApproval', { path: { runId: blocked.id, approvalId: blocked.approvalIds[0] ?? '' } });
  });

  it('create and update schedules, identities, MCP servers and secrets as they are', async () => {
    const schedule = await send('createScheduledAgent');
    await send('updateScheduledAgent', { path: { scheduleId: schedule.id } });
    const identity = await send('createAgentIdentity');
    await send('updateAgentIdentity', { path: { uid: identity.uid } });
    const server = await send('createMcpServer');
    await send('updateMcpServer', { path: { uid: server.uid } });
    await send('putSecret', { path: { name: 'example' } });
  });

  it('create, update and share environments, once the colleague and the token of the link are filled in', async () => {
    const { uid } = await send('createEnvironment');
    await send('updateEnvironment', { path: { uid } });
    const { token } = await send('createEnvironmentLink', { path: { uid } });
    await send('redeemEnvironmentLink', { fill: { token }, token: colleague.token });
    await send('grantEnvironment', { path: { uid }, fill: { user_email: `${colleague.uid}@example.test` } });
  });

  it('create and update webhooks and notification webhooks as they are', async () => {
    const { uid } = await send('createWebhook', { path: { factoryUid } });
    await send('updateWebhook', { path: { factoryUid, uid } });
    await send('rotateWebhookSecret', { path: { factoryUid, uid } });
    await send('testWebhook', { path: { factoryUid, uid } });
    const notification = await send('createNotificationWebhook');
    await send('updateNotificationWebhook', { path: { uid: notification.uid } });
  });

  it('create, replace and test automations, apply a definition and start a run of a factory as they are', async () => {
    const { uid } = await send('createAutomation', { path: { factoryUid } });
    await send('replaceAutomation', { path: { factoryUid, uid } });
    await send('testUnsavedTrigger', { path: { factoryUid } });
    await send('testAutomationTrigger', { path: { factoryUid, uid, index: '0' } });
    expect(await send('validateFactoryDefinition', { path: { factoryUid } })).toMatchObject({ valid: true });
    await send('applyFactoryDefinition', { path: { factoryUid } });
    expect(await send('validateFactoryFiles')).toMatchObject({ valid: true });
    await send('dispatchFactoryRun', { path: { uid: factoryUid } });
  });

  it('create and update teams, people, service accounts and tokens as they are', async () => {
    const { token } = await api.identities.administrator();
    const created = await send('createTeam', { token });
    await send('updateTeam', { path: { uid: created.uid }, token });
    const user = await send('createUser', { token });
    await send('updateUser', { path: { uid: user.uid }, token });
    await send('putMember', { path: { userUid: user.uid }, token, headers: inTeam(created.uid) });
    await send('createServiceAccount');
    await send('createToken');
    const { url } = await send('createLoginLink');
    const headers = { 'X-Headrace-Console': '1' };
    const asked = await fetch(`${api.url}/api/v1/oauth/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'a program' }),
    });
    const { user_code: userCode } = (await asked.json()) as { user_code: string };
    await send('decideDeviceAuthorization', { path: { userCode } });
    await send('createSession', { fill: { login_code: url.split('#code=')[1] }, headers });
  });

  it('create and update factories, and invite a person whose code is filled in', async () => {
    const { uid } = await send('createFactory');
    await send('updateFactory', { path: { uid } });
    // Another test has created a user with the address of the example.
    const { url } = await send('createInvitation', { fill: { email: 'grace@example.com' } });
    const code = url.split('#code=')[1];
    await send('lookUpInvitation', { fill: { code } });
    await send('acceptInvitation', { fill: { code }, headers: { 'X-Headrace-Console': '1' } });
  });

  it('exist for every operation with a body, and say what has to be filled in', () => {
    const withBody = operations().filter(({ operation }) => operation.requestBody);
    expect(withBody.length).toBeGreaterThan(20);
    expect(withBody.map(({ operation }) => operation.operationId).filter((id) => !sent.has(id))).toEqual([]);
    const filled = withBody.filter(({ operation }) => exampleOf(operation)?.summary.startsWith('Replace first'));
    expect(filled.map(({ operation }) => operation.operationId).sort()).toEqual([
      'acceptInvitation',
      'createSession',
      'grantEnvironment',
      'lookUpInvitation',
      'redeemEnvironmentLink',
    ]);
  });
});
