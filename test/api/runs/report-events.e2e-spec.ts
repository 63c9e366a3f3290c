import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUNNER_KINDS } from '#execution/runner-protocol';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

async function working(): Promise<{ runId: string; runner: TestRunner }> {
  const { token } = fixture.member;
  const { body } = await fixture.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.' } });
  const runner = await TestRunner.take(fixture.api, body.run_id);
  await runner.startAgent();
  return { runId: body.run_id, runner };
}

describe('an event of a runner', () => {
  it('is refused with 400 when its data is no object, of each kind, and the value is not logged', async () => {
    const { runner } = await working();
    const { execution_id: id, lease_epoch: epoch } = runner.assignment;
    fixture.api.log.clear();
    for (const kind of RUNNER_KINDS)
      for (const data of [null, 'swordfish', ['swordfish'], 7]) {
        const { body } = await fixture.request(400, `POST /runner/v1/executions/${id}/events`, {
          token: runner.token,
          body: { lease_epoch: epoch, events: [{ source_seq: 100, kind, data }] },
        });
        expect(body.errors).toEqual([{ pointer: '/events/0/data', detail: 'must be an object' }]);
      }
    expect(fixture.api.log.text).not.toContain('swordfish');
  });

  it('changes the run by texts of limited length, whatever their length in the log', async () => {
    const { runId, runner } = await working();
    const long = 'x'.repeat(50_000);
    await runner.report(
      ['session_started', { session_id: long, resumed: false }],
      ['agent_waiting', { message: long, detail: long }],
    );
    const statusOf = async () =>
      (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body.status_message;
    expect((await statusOf()).message).toHaveLength(16_384);
    const options = Array.from({ length: 32 }, (_, index) => ({
      option_id: index === 0 ? long : `${index}`,
      name: long,
      kind: 'allow_once',
    }));
    await runner.report(
      ['turn_started', { turn_id: 't', prompt: 'Go.' }],
      ['permission_requested', { approval_id: 'a', tool_call_id: long, title: 'Write', options, ask: true }],
    );
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/approvals`, { token: fixture.member.token });
    expect(body.approvals[0].options).toHaveLength(31);
    expect(JSON.stringify(body).length).toBeLessThan(25_000);
    await runner.report(['turn_ended', { turn_id: 't', stop_reason: 'error', message: long, detail: long }]);
    expect(JSON.stringify(await statusOf()).length).toBeLessThan(34_000);
    const [row] = await fixture.database.query<{ length: number }>(
      'SELECT length(session_id) FROM runs WHERE id = $1',
      [runId],
    );
    expect(row?.length).toBe(512);
  });

  it('makes the notice of a turn the message of the run', async () => {
    const { runId, runner } = await working();
    const message = 'Changes were not pushed: app (1 commit).';
    await runner.report(
      ['turn_started', { turn_id: 't', prompt: 'Go.' }],
      ['turn_ended', { turn_id: 't', stop_reason: 'end_turn', notice: message }],
    );
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token });
    expect(body).toMatchObject({ state: 'SUCCEEDED', status_message: { message } });
    expect(body.status_message).not.toHaveProperty('error_code');
  });

  it('does not count usage beyond what JSON can say', async () => {
    const { runId, runner } = await working();
    for (const total of [1e308, 1e308, 5]) await runner.report(['usage', { total_tokens: total, cost_usd: total }]);
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token });
    expect(body.request_usage).toMatchObject({ total_tokens: 5, inference_cost_usd: 5 });
  });
});
