import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { TestRunner, type TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const register = (status: number, runId: string, body: object = { message: 'Here.' }, { token } = fixture.member) =>
  fixture.request(status, `POST /agent/runs/${runId}/followups/external`, { token, body });
const runOf = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
const turn = (id: string, followupId?: string) =>
  [
    ['turn_started', { turn_id: id, prompt: 'go', ...(followupId === undefined ? {} : { followup_id: followupId }) }],
    ['turn_ended', { turn_id: id, stop_reason: 'end_turn' }],
  ] as const;
const listed = async (runId: string, location: string): Promise<boolean> => {
  const { body } = await fixture.request(200, `GET /agent/runs?execution_location=${location}&limit=100`, {
    token: fixture.member.token,
  });
  return (body.runs as { run_id: string }[]).some(({ run_id: id }) => id === runId);
};

/** A hosted run after its first turn. */
async function startedRun(fields: object = {}): Promise<{ readonly runId: string; readonly runner: TestRunner }> {
  const { token } = fixture.member;
  const { body } = await fixture.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.', ...fields } });
  const runner = await TestRunner.take(fixture.api, body.run_id);
  await runner.startAgent();
  return { runId: body.run_id, runner };
}
async function endedRun(): Promise<{ readonly runId: string; readonly snapshotId: string }> {
  const { runId, runner } = await startedRun();
  await runner.report(turn('t1')[0]);
  const snapshotId = await runner.snapshot();
  await runner.report(turn('t1')[1]);
  await runner.finish();
  return { runId, snapshotId };
}
const continueBy = async (by: TestPrincipal): Promise<string> => {
  const { runId } = await endedRun();
  const { body } = await register(200, runId, { message: 'Here.' }, by);
  await (await TestRunner.claim(fixture.api, body.execution_id, body.token)).startAgent();
  return runId;
};

describe('an external follow-up', () => {
  it('continues an ended run with its session and last snapshot, and needs no slot', async () => {
    const { runId, snapshotId } = await endedRun();
    const answer = await register(200, runId);
    expect(answer.body).toEqual({
      followup_id: expect.any(String),
      outcome: 'handoff_execution',
      run_id: runId,
      execution_id: expect.stringMatching(/^\d+$/),
      token: expect.stringMatching(/^hrx_/),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await runOf(runId)).toMatchObject({
      state: 'PENDING',
      execution_location: 'LOCAL',
      is_run_type_cancellable: false,
    });
    expect([await listed(runId, 'LOCAL'), await listed(runId, 'REMOTE')]).toEqual([true, false]);
    const { followup_id: followupId, execution_id: executionId, token } = answer.body;
    const runner = await TestRunner.claim(fixture.api, executionId, token);
    expect(runner.assignment).toMatchObject({
      run_id: runId,
      prompt: null,
      resume: { session_id: 'session-1' },
      snapshots: { restore: snapshotId },
    });
    const commands = await runner.call(200, 'GET commands', { version: '0', wait: '0' });
    expect(commands.body.prompts).toEqual([{ followup_id: followupId, message: 'Here.' }]);
    await runner.startAgent();
    await runner.report(...turn('t2', followupId));
    await runner.finish();
    expect(await runOf(runId)).toMatchObject({ state: 'SUCCEEDED', execution_location: 'LOCAL' });
    const held = await fixture.database.query('SELECT key FROM slot_pools WHERE used > 0');
    expect(held).toEqual([]);
  });

  it('needs no message, and is handed over by the next follow-up', async () => {
    const { runId } = await endedRun();
    const { body } = await register(200, runId, {});
    const runner = await TestRunner.claim(fixture.api, body.execution_id, body.token);
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'go', followup_id: body.followup_id }]);
    const later = await runner.snapshot('later');
    await runner.report(['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }]);
    await runner.finish();
    const { token } = fixture.member;
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, { token, body: { message: 'There.' } });
    expect(await runOf(runId)).toMatchObject({ state: 'QUEUED', execution_location: 'REMOTE' });
    const next = await TestRunner.take(fixture.api, runId);
    expect(next.assignment.snapshots).toMatchObject({ restore: later });
    await next.finish();
  });

  it('closes an idle session first, and answers 409 until it has ended', async () => {
    const { runId, runner } = await startedRun({ config: { idle_timeout_minutes: 5 } });
    await runner.snapshot();
    await runner.report(...turn('t1'));
    for (let count = 0; count < 2; count += 1) {
      const answer = await register(409, runId);
      expectProblem(fixture.api, answer, 'conflict');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    const commands = await runner.call(200, 'GET commands', { version: '1', wait: '0' });
    expect(commands.body).toMatchObject({ desired: 'close', desired_reason: 'moved' });
    expect((await runOf(runId)).state).toBe('SUCCEEDED');
    await runner.finish();
    await register(200, runId);
  });

  it('does not close a session that a message waits for', async () => {
    const { runId, runner } = await startedRun({ config: { idle_timeout_minutes: 5 } });
    await runner.snapshot();
    await runner.report(...turn('t1'));
    const { token } = fixture.member;
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, { token, body: { message: 'First.' } });
    expectProblem(fixture.api, await register(400, runId), 'invalid_request');
    const commands = await runner.call(200, 'GET commands', { version: '1', wait: '0' });
    expect(commands.body.desired).toBe('run');
    await runner.finish();
  });

  it('is rejected with 400 for a run that has not ended, or has no snapshot', async () => {
    const { runId, runner } = await startedRun();
    await runner.report(turn('t1')[0]);
    const without = await register(400, runId);
    expectProblem(fixture.api, without, 'invalid_request');
    expect(without.body.detail).toContain('The run has no stored snapshot');
    await runner.snapshot();
    const answer = await register(400, runId);
    expectProblem(fixture.api, answer, 'invalid_request');
    expect(answer.body.detail).toBe('The run has not ended: wait for its end, or cancel it.');
    expect((await runOf(runId)).state).toBe('INPROGRESS');
    await runner.report(turn('t1')[1]);
    await runner.finish();
    const { token } = fixture.member;
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, { token, body: { message: 'Again.' } });
    expect((await register(400, runId)).body.detail).toBe(answer.body.detail);
    await fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token });
    await register(200, runId);
  });

  it('does not close a session on the machine of a user, which waits for messages', async () => {
    const { runId } = await endedRun();
    const { body } = await register(200, runId, { message: 'Here.' });
    const runner = await TestRunner.claim(fixture.api, body.execution_id, body.token);
    await runner.startAgent();
    await runner.report(...turn('t2', body.followup_id));
    const other = await fixture.api.identities.user({ [fixture.team]: 'member' });
    expectProblem(fixture.api, await register(400, runId, { message: 'There.' }, other), 'invalid_request');
    const commands = await runner.call(200, 'GET commands', { version: '0', wait: '0' });
    expect(commands.body.desired).toBe('run');
    await runner.finish();
  });

  it('rejects an unknown attachment with 422, a long message with 413 and another type with 415', async () => {
    const { runId } = await endedRun();
    const attachments = [{ attachment_id: randomUUID() }];
    const unknown = await register(422, runId, { attachments });
    expect(unknown.body).toMatchObject({
      error_code: 'unknown_attachment',
      errors: [{ pointer: '/attachments/0', detail: expect.any(String) }],
    });
    const long = await register(413, runId, { message: 'x'.repeat(1_048_577) });
    expect(long.body).toMatchObject({ error_code: 'payload_too_large', errors: [{ pointer: '/message' }] });
    await fixture.request(415, `POST /agent/runs/${runId}/followups/external`, {
      token: fixture.member.token,
      body: 'message',
      contentType: 'text/plain',
    });
    expect((await runOf(runId)).state).toBe('SUCCEEDED');
  });

  it('ends the run in ERROR when nobody claims it, which a follow-up continues', async () => {
    const { runId } = await endedRun();
    await register(200, runId);
    await fixture.api.advanceClock(fixture.api.settings.claimDeadline + 1);
    await fixture.api.app.get(SweepExecutions).execute();
    expect(await runOf(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    await register(200, runId);
  });

  it('is stopped when the user who executes it is disabled, not when the creator of the run is', async () => {
    const [creator, executor] = [
      await fixture.api.identities.user({ [fixture.team]: 'member' }),
      await fixture.api.identities.user({ [fixture.team]: 'member' }),
    ];
    const runId = await continueBy(executor);
    await fixture.database.query('UPDATE runs SET creator_uid = $2 WHERE id = $1', [runId, creator.uid]);
    const disable = async (uid: string): Promise<unknown> => {
      await fixture.database.query('UPDATE users SET disabled_at = now() WHERE uid = $1', [uid]);
      await fixture.api.app.get(SweepExecutions).execute();
      const [row] = await fixture.database.query<{ desired: string }>(
        'SELECT desired FROM executions WHERE run_id = $1 AND ended_at IS NULL',
        [runId],
      );
      return row?.desired;
    };
    expect(await disable(creator.uid)).toBe('run');
    expect(await disable(executor.uid)).toBe('stop');
  });

  it('cannot be claimed when the user who registered it has left the team', async () => {
    const { runId } = await endedRun();
    const executor = await fixture.api.identities.user({ [fixture.team]: 'member' });
    const { body } = await register(200, runId, { message: 'Here.' }, executor);
    await fixture.database.query('DELETE FROM memberships WHERE user_uid = $1', [executor.uid]);
    await fixture.api.request(412, `POST /runner/v1/executions/${body.execution_id}/claim`, {
      token: body.token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    expect(await runOf(runId)).toMatchObject({ state: 'FAILED', status_message: { error_code: 'not_authorized' } });
  });
});

describe('listHandoffAttachments', () => {
  it('returns the archive of the last snapshot, with a link that needs no token', async () => {
    const { runId, snapshotId } = await endedRun();
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/handoff/attachments`, {
      token: fixture.viewer.token,
    });
    expect(body.attachments).toEqual([
      {
        attachment_id: snapshotId,
        filename: `run-${runId}.tar.gz`,
        download_url: expect.stringContaining(`${fixture.api.url}/archives/${runId}/${snapshotId}?`),
        mime_type: 'application/gzip',
      },
    ]);
    const url: string = body.attachments[0].download_url;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    const directory = mkdtempSync(join(tmpdir(), 'headrace-handoff-'));
    execFileSync('tar', ['-xz', '-C', directory], { input: Buffer.from(await response.arrayBuffer()) });
    expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('abc');
    rmSync(directory, { recursive: true });

    const line = (text: string): string => `GET ${text.slice(fixture.api.url.length)}`;
    const other = await endedRun();
    const forged = await fixture.api.atOrigin(403, line(url.replace(snapshotId, other.snapshotId)));
    expectProblem(fixture.api, forged, 'not_authorized');
    await fixture.database.query('DELETE FROM run_snapshots WHERE id = $1', [snapshotId]);
    expectProblem(fixture.api, await fixture.api.atOrigin(404, line(url)), 'resource_not_found');
    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl + 1000);
    const expired = await fixture.api.atOrigin(403, line(url));
    expect(expired.body.detail).toBe('The download link has expired. Request a new one.');
  });
});
