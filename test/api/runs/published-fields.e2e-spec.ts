import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { statementsDuring } from '../../support/api-requests.js';
import { FACTORY } from '../definitions/definition-plans.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const followUp = (runId: string, body: object) =>
  fixture.requestAsMember(200, `POST /agent/runs/${runId}/followups`, body);
const listed = async (runId: string) =>
  (await fixture.requestAsMember(200, `GET /agent/runs?q=${runId}`)).runs.find(
    (run: { run_id: string }) => run.run_id === runId,
  );

describe('root_run_id', () => {
  it('is the id of a run without a parent, and the top of the chain for a run with one', async () => {
    const root = await fixture.createRun();
    const child = await fixture.createRun({ parent_run_id: root });
    const grandchild = await fixture.createRun({ parent_run_id: child });
    for (const id of [root, child, grandchild]) expect((await fixture.getRun(id)).root_run_id).toBe(root);
    expect((await listed(grandchild)).root_run_id).toBe(root);
  });
});

describe('finished_at', () => {
  it('is set when the run ends, cleared when it continues, and set again', async () => {
    const runId = await fixture.createRun();
    expect((await fixture.getRun(runId)).finished_at).toBeNull();
    const runner = await TestRunner.take(fixture.api, runId);
    expect((await fixture.getRun(runId)).finished_at).toBeNull();
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'go' }]);
    expect((await fixture.getRun(runId)).finished_at).toBeNull();
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    const first = await fixture.getRun(runId);
    expect(first).toMatchObject({ state: 'SUCCEEDED', finished_at: first.updated_at });
    expect((await listed(runId)).finished_at).toBe(first.finished_at);

    const { followup_id } = await followUp(runId, { message: 'Continue.' });
    expect(await fixture.getRun(runId)).toMatchObject({ state: 'INPROGRESS', finished_at: null });
    await fixture.api.advanceClock(5_000);
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'Continue.', followup_id }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    const second = await fixture.getRun(runId);
    expect(Date.parse(second.finished_at)).toBeGreaterThanOrEqual(Date.parse(first.finished_at) + 5_000);
    await runner.finish();
    expect((await fixture.getRun(runId)).finished_at).toBe(second.finished_at);

    expect((await followUp(runId, { message: 'Again.' })).outcome).toBe('handoff_execution');
    expect(await fixture.getRun(runId)).toMatchObject({ state: 'QUEUED', finished_at: null });
  });

  it('is set when a queued run is cancelled', async () => {
    const runId = await fixture.createRun();
    await fixture.requestAsMember(200, `POST /agent/runs/${runId}/cancel`);
    const run = await fixture.getRun(runId);
    expect(run).toMatchObject({ state: 'CANCELLED', finished_at: run.updated_at });
  });

  it('is set when the execution fails before the agent starts', async () => {
    const runId = await fixture.createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.finish('failed', { error_code: 'environment_setup_failed', message: 'The command failed.' });
    expect(await fixture.getRun(runId)).toMatchObject({ state: 'FAILED', finished_at: expect.stringMatching(/Z$/) });
  });

  it('is null for a run that an older version has ended', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED' });
    expect((await fixture.getRun(id)).finished_at).toBeNull();
  });
});

describe('submitted_prompt', () => {
  it('is the prompt with the follow-ups that were sent before the start', async () => {
    const runId = await fixture.createRun({ prompt: 'Fix the test.' });
    expect((await fixture.getRun(runId)).submitted_prompt).toBe('Fix the test.');
    await followUp(runId, { message: 'Be quick.' });
    const runner = await TestRunner.take(fixture.api, runId);
    await followUp(runId, { message: 'And careful.' });
    await runner.startAgent();
    await fixture.api.advanceClock(1_000);
    await followUp(runId, { message: 'This one is later.' });
    expect(await fixture.getRun(runId)).toMatchObject({
      prompt: 'Fix the test.',
      submitted_prompt: 'Fix the test.\n\nBe quick.\n\nAnd careful.',
    });
  });

  it('has at most 2,048 characters in lists', async () => {
    const runId = await fixture.createRun({ prompt: 'Fix the test.' });
    expect((await listed(runId)).submitted_prompt).toBe('Fix the test.');
    await followUp(runId, { message: '😀'.repeat(4_000) });
    expect((await listed(runId)).submitted_prompt).toBe(`Fix the test.\n\n${'😀'.repeat(2_033)}`);
    expect((await fixture.getRun(runId)).submitted_prompt).toBe(`Fix the test.\n\n${'😀'.repeat(4_000)}`);
  });

  it('is read together with the run', async () => {
    const runId = await fixture.createRun();
    await fixture.getRun(runId);
    expect(await statementsDuring(fixture.api, () => fixture.getRun(runId))).toEqual(['runs.find']);
  });
});

describe('harness-usage', () => {
  it('is not available for a run with a conversation, and 404 before that', async () => {
    const runId = await fixture.createRun();
    await fixture.requestAsMember(400, 'GET /agent/runs/%20/harness-usage');
    await fixture.requestAsMember(404, `GET /agent/runs/${runId}/harness-usage`);
    await (await TestRunner.take(fixture.api, runId)).startAgent();
    const { conversation_id } = await fixture.getRun(runId);
    expect(await fixture.requestAsMember(200, `GET /agent/runs/${runId}/harness-usage`)).toEqual({
      run_id: runId,
      conversation_id,
      available: false,
    });
  });
});

describe('factory_uid', () => {
  it('is the factory of a dispatched run', async () => {
    const factory = await fixture.createFactory();
    await fixture.createForeman(factory);
    const { run_id } = await fixture.requestAsMember(200, `POST /factory/${factory}/runs`, { prompt: 'Go.' });
    expect((await fixture.getRun(run_id)).factory_uid).toBe(factory);
    expect((await listed(run_id)).factory_uid).toBe(factory);
  });

  it('is the factory of the agent identity that executes the run, unless the metadata are full', async () => {
    const factory = await fixture.createFactory();
    await fixture.applyDefinition(factory, {
      'factory.yaml': FACTORY,
      'agents/fixer/agent.md': '---\n---\nYou fix.\n',
    });
    const { agents } = await fixture.requestAsAdmin(200, `GET /agent/identities?factory_uid=${factory}`);
    const agent_identity_uid: string = agents[0].uid;
    const run = await fixture.getRun(await fixture.createRun({ agent_identity_uid, metadata: { a: '1' } }));
    expect(run).toMatchObject({ factory_uid: factory, metadata: { a: '1', factory_uid: factory } });
    const full = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key-${index}`, 'value']));
    const filled = await fixture.getRun(await fixture.createRun({ agent_identity_uid, metadata: full }));
    expect(filled.metadata).toEqual(full);
    expect(filled).not.toHaveProperty('factory_uid');
  });

  it('is absent for other runs', async () => {
    expect(await fixture.getRun(await fixture.createRun())).not.toHaveProperty('factory_uid');
  });
});
