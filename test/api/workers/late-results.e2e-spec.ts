import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { ConnectedWorkers } from './connected-workers.js';

let fixture: ApiFixture;
let workers: ConnectedWorkers;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  workers = await ConnectedWorkers.start(fixture);
});
afterAll(() => workers.close());

/** A run on a worker whose runner has ended in good order, of which its daemon has not reported yet. */
const endedByItsRunner = async () => {
  const host = workers.newHost();
  const worker = await workers.connect(host);
  const runId = await workers.createRun(host);
  const offer = await worker.next('task_assignment');
  worker.claim(runId);
  await worker.handled();
  const runner = await workers.startRunner(offer);
  await runner.begin();
  await runner.endTurn();
  await runner.finish('closed');
  return { worker, runId };
};

describe('a late result of an earlier execution', () => {
  it.each([
    ['task_completed', {}],
    ['task_failed', { exit_code: 1 }],
  ] as const)('does not end the execution that a follow-up has started: %s', async (type, fields) => {
    const { worker, runId } = await endedByItsRunner();
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.bot.token,
      body: { message: 'Once more.' },
    });
    const again = await worker.next('task_assignment');
    worker.say({ type, data: { task_id: runId, message: 'The runner has ended.', ...fields } });
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('PENDING');
    worker.claim(runId);
    await worker.handled();
    const runner = await workers.startRunner(again);
    expect((await runner.commands(0)).prompts).toMatchObject([{ message: 'Once more.' }]);
  });

  it.each([
    ['task_completed', { task_state: 'CANCELLED' }],
    ['task_failed', { failure_reason: 'task_cancelled' }],
  ] as const)('does not cancel the execution that replaced it: %s', async (type, fields) => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    await worker.next('task_assignment');
    await fixture.api.advanceClock(fixture.api.settings.claimDeadline);
    await workers.sweep();
    await worker.next('task_cancellation');
    await worker.next('task_assignment');
    // It was held up, and now works off what it was sent.
    worker.claim(runId);
    worker.say({ type, data: { task_id: runId, message: 'Stopped.', ...fields } });
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('CLAIMED');
    worker.complete(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).state).toBe('SUCCEEDED');
  });
});
