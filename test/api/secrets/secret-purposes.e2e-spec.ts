import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { pointersOf } from '../../support/api-requests.js';

/** Secrets that webhooks check senders with are not given to runs: anybody who reads one can forge deliveries. */

let api: TestApi;
let fixture: ApiFixture;
let factoryUid: string;
beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
  factoryUid = await fixture.createFactory();
});
afterAll(() => api.close());

const put = (name: string, body: object, status = 200) =>
  api.request(status, `PUT /secrets/${name}`, { token: fixture.admin.token, body });
const purposeOf = async (name: string): Promise<string | undefined> => {
  const { secrets } = (await api.request(200, 'GET /secrets', { token: fixture.admin.token })).body;
  return secrets.find((one: { name: string }) => one.name === name)?.purpose;
};
const newWebhook = async (fields: object = {}): Promise<string> =>
  (
    await api.request(201, `POST /factories/${factoryUid}/webhooks`, {
      token: fixture.admin.token,
      body: { name: newUid(), ...fields },
    })
  ).body.uid as string;
const forClaude = (name: string) => ({
  harness: { type: 'claude' },
  harness_auth_secrets: { claude_auth_secret_name: name },
});

describe('a secret that a webhook owns', () => {
  it('is for webhooks, and no run, environment or agent identity may name it: 403', async () => {
    const name = `webhook-${await newWebhook()}`;
    expect(await purposeOf(name)).toBe('webhook');
    const { token } = fixture.admin;
    const run = { prompt: 'Go.', config: forClaude(name) };
    const pointers = ['/config/harness_auth_secrets/claude_auth_secret_name'];
    for (const by of [fixture.member, fixture.bot]) {
      const { body } = await api.request(403, 'POST /agent/runs/external', { token: by.token, body: run });
      expect(pointersOf(body)).toEqual(pointers);
    }
    const unknown = await api.request(403, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go.', config: forClaude('nowhere') },
    });
    const known = await api.request(403, 'POST /agent/runs', { token: fixture.member.token, body: run });
    expect(known.body.detail).toBe(unknown.body.detail);
    const environment = {
      config: { secrets: [{ name }], github_repos: [{ owner: 'a', repo: 'b', secret_name: name }] },
    };
    const refused = await api.request(403, 'POST /environments', { token, body: environment });
    expect(pointersOf(refused.body)).toEqual(['/config/secrets/0/name', '/config/github_repos/0/secret_name']);
    const identity = { name: 'forger', secrets: [{ name }] };
    expect(pointersOf((await api.request(403, 'POST /agent/identities', { token, body: identity })).body)).toEqual([
      '/secrets/0/name',
    ]);
  });

  it('has a name that no secret for runs can have', async () => {
    expect(pointersOf((await put('webhook-mine', { value: 'x', purpose: 'run' }, 400)).body)).toEqual(['/purpose']);
    expect((await put('webhook-mine', { value: 'x' })).body.purpose).toBe('webhook');
  });
});

describe('a secret for runs', () => {
  it('that a webhook starts to use is for webhooks from then on: a run that named it before fails when it begins', async () => {
    await put('shared', { value: 'swordfish-swordfish-swordfish' });
    expect(await purposeOf('shared')).toBe('run');
    const { body: run } = await api.request(200, 'POST /agent/runs/external', {
      token: fixture.member.token,
      body: { prompt: 'Go.', config: forClaude('shared') },
    });
    await newWebhook({ auth_mode: 'url_token', secret_name: 'shared' });
    expect(await purposeOf('shared')).toBe('webhook');
    const claim = await api.request(412, `POST /runner/v1/executions/${run.execution_id}/claim`, {
      token: run.token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    expect(claim.text).not.toContain('swordfish');
    const { body } = await api.request(200, `GET /agent/runs/${run.run_id}`, { token: fixture.member.token });
    expect(body).toMatchObject({ state: 'FAILED', status_message: { error_code: 'environment_setup_failed' } });
    // A new value changes nothing about that, and it cannot be taken back while the webhook uses it.
    expect((await put('shared', { value: 'another-value-for-the-webhook' })).body.purpose).toBe('webhook');
    await put('shared', { value: 'another-value-for-the-webhook', purpose: 'run' }, 409);
    expect(await purposeOf('shared')).toBe('webhook');
  });

  it('can be made one for webhooks, and one for runs again while no webhook uses it', async () => {
    expect((await put('moving', { value: 'x', purpose: 'webhook' })).body.purpose).toBe('webhook');
    await api.request(403, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go.', config: forClaude('moving') },
    });
    expect((await put('moving', { value: 'x', purpose: 'run' })).body.purpose).toBe('run');
    expect(pointersOf((await put('moving', { value: 'x', purpose: 'else' }, 400)).body)).toEqual(['/purpose']);
  });
});
