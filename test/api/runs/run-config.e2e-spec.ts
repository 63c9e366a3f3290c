import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.putSecret('npm-token', 'value-of-npm');
  await fixture.putSecret('deploy-key', 'value-of-deploy');
});
afterAll(() => fixture.close());

const take = async (fields: object) => TestRunner.take(fixture.api, await fixture.createRun(fields));
const refused = (status: number, config: object, team = true) =>
  fixture.request(status, 'POST /agent/runs', { token: fixture.member.token, body: { prompt: 'Go.', team, config } });

describe('idle_timeout_minutes: 0', () => {
  it('closes the session with the end of the turn, and a follow-up continues in a new execution', async () => {
    const runner = await take({ config: { idle_timeout_minutes: 0 } });
    const { run_id } = runner.assignment;
    await runner.startAgent();
    const started = await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
    expect(started.desired).toBe('run');
    const ended = await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect(ended.desired).toBe('close');
    expect(await fixture.getRun(run_id)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: true });
    const followUp = { message: 'Continue.' };
    const { outcome } = await fixture.requestAsMember(200, `POST /agent/runs/${run_id}/followups`, followUp);
    expect(outcome).toBe('handoff_execution');
    await runner.finish();
    const [execution] = await fixture.database.query<{ end_reason: string; desired_reason: string }>(
      'SELECT desired_reason FROM executions WHERE id = $1',
      [runner.assignment.execution_id],
    );
    expect(execution).toEqual({ desired_reason: 'idle_timeout' });
    expect((await TestRunner.take(fixture.api, run_id)).assignment.resume?.session_id).toBe('session-1');
  });

  it('continues with a message that waits at the end of the turn before it closes the session', async () => {
    const runner = await take({ config: { idle_timeout_minutes: 0 } });
    const { run_id } = runner.assignment;
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
    const message = { message: 'Continue.' };
    const { followup_id } = await fixture.requestAsMember(200, `POST /agent/runs/${run_id}/followups`, message);
    const first = await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect(first.desired).toBe('run');
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'Continue.', followup_id }]);
    const second = await runner.report(['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }]);
    expect(second.desired).toBe('close');
  });

  it('leaves the session open with any other value', async () => {
    const runner = await take({ config: { idle_timeout_minutes: 1 } });
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
    expect((await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }])).desired).toBe('run');
  });
});

describe('secrets of a configuration', () => {
  it('become variables beside those of the environment and the agent identity', async () => {
    await fixture.putSecret('of-environment', 'value-of-environment');
    await fixture.putSecret('of-identity', 'value-of-identity');
    const environment_id = await fixture.createEnvironment(
      { env: { npm_token: 'plain' }, secrets: [{ name: 'of-environment' }] },
      { team: true },
    );
    const { uid } = await fixture.createIdentity({ secrets: [{ name: 'of-identity' }, { name: 'deploy-key' }] });
    const config = { environment_id, secrets: [{ name: 'npm-token' }, { name: 'deploy-key' }] };
    const { assignment } = await take({ agent_identity_uid: uid, config });
    expect(assignment.secrets).toEqual({
      of_environment: 'value-of-environment',
      of_identity: 'value-of-identity',
      npm_token: 'value-of-npm',
      deploy_key: 'value-of-deploy',
    });
    expect((await fixture.getRun(assignment.run_id)).agent_config.secrets).toEqual(config.secrets);
  });

  it('are given to a run without environment and identity, and an empty list adds none', async () => {
    const secrets = [{ name: 'npm-token' }];
    expect((await take({ config: { secrets } })).assignment.secrets).toEqual({ npm_token: 'value-of-npm' });
    expect((await take({ config: { secrets: [] } })).assignment.secrets).toEqual({});
  });

  it('reject a name that does not exist, and any name in a personal run, with 403', async () => {
    const config = { secrets: [{ name: 'npm-token' }, { name: 'nope' }] };
    const detail = expect.stringContaining('names a managed secret that') as string;
    expectProblem(fixture.api, await refused(403, config), 'not_authorized', [
      { pointer: '/config/secrets/1/name', detail },
    ]);
    expectProblem(fixture.api, await refused(403, { secrets: [{ name: 'npm-token' }] }, false), 'not_authorized', [
      { pointer: '/config/secrets/0/name', detail },
    ]);
  });

  it('reject what is not a list of names, and two names of one variable, with 400', async () => {
    const cases: [unknown, string, string][] = [
      [['npm-token'], '/config/secrets/0', 'must be an object'],
      [[{ name: ' ' }], '/config/secrets/0/name', 'must not be blank'],
      [
        [{ name: 'npm-token' }, { name: 'npm_token' }],
        '/config/secrets/1/name',
        'becomes the variable npm_token, which `env` or another secret has already',
      ],
    ];
    for (const [secrets, pointer, detail] of cases)
      expectProblem(fixture.api, await refused(400, { secrets }), 'invalid_request', [{ pointer, detail }]);
  });

  it('fail a run whose secret was deleted before it started', async () => {
    await fixture.putSecret('short-lived', 'value');
    const runId = await fixture.createRun({ config: { secrets: [{ name: 'short-lived' }] } });
    await fixture.requestAsAdmin(204, 'DELETE /secrets/short-lived');
    await TestRunner.take(fixture.api, runId).catch(() => undefined);
    expect(await fixture.getRun(runId)).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: expect.stringContaining('The managed secret short-lived, which the run names'),
      },
    });
  });
});

describe('harness.model_id', () => {
  it('counts as absent when it is empty', async () => {
    const harness = { type: 'oz', model_id: '' };
    const run = await fixture.getRun(await fixture.createRun({ config: { model_id: 'model-1', harness } }));
    expect(run.agent_config).toMatchObject({ model_id: 'model-1', harness: { type: 'oz' } });
    expect(run.agent_config.harness).not.toHaveProperty('model_id');
    const identity = await fixture.createIdentity({ harness });
    expect(identity.harness).toEqual({ type: 'oz' });
  });

  it('rejects text of spaces with 400', async () => {
    expectProblem(fixture.api, await refused(400, { harness: { model_id: ' ' } }), 'invalid_request', [
      { pointer: '/config/harness/model_id', detail: 'must not be blank' },
    ]);
  });
});
