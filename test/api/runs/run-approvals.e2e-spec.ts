import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExecutionTokens, SweepExecutions } from '#execution/executions';
import { type RunShape, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  lockOfRun,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_RUN_ID,
} from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const block = (shape: Omit<RunShape, 'by' | 'state'> = {}) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'BLOCKED', ...shape });
const approvals = async (runId: string, token = fixture.member.token) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/approvals`, { token })).body.approvals;
const decide = (
  status: number,
  runId: string,
  approvalId: string | undefined,
  body: unknown,
  token = fixture.member.token,
) => fixture.request(status, `POST /agent/runs/${runId}/approvals/${approvalId}`, { token, body });
const get = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
const lastEvent = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token })).body.events.at(-1);
const commandVersion = async (executionId: string | null) =>
  Number(
    (
      await fixture.database.query<{ command_version: string }>(
        'SELECT command_version FROM executions WHERE id = $1',
        [executionId],
      )
    )[0]?.command_version,
  );

describe('listRunApprovals', () => {
  it('returns the requested action and the expiry of each request', async () => {
    const { id, approvalIds } = await block();
    const [approval, ...others] = await approvals(id);
    expect(others).toEqual([]);
    expect(approval).toEqual({
      approval_id: approvalIds[0],
      run_id: id,
      kind: 'permission',
      title: 'Run `make deploy`',
      input: { command: 'make deploy' },
      options: [
        { option_id: 'yes', name: 'Allow', kind: 'allow_once' },
        { option_id: 'no', name: 'Reject', kind: 'reject_once' },
      ],
      state: 'pending',
      requested_at: expect.any(String),
      expires_at: expect.any(String),
    });
    expect(Date.parse(approval.expires_at) - Date.parse(approval.requested_at)).toBe(
      fixture.api.settings.approvalTimeout,
    );
  });

  it('returns an empty list without a request', async () => {
    expect(await approvals((await fixture.runs.build({ by: fixture.member, team: fixture.team })).id)).toEqual([]);
  });

  it('allows a viewer of the team, and rejects another team', async () => {
    const { id } = await block();
    expect(await approvals(id, fixture.viewer.token)).toHaveLength(1);
    expectProblem(
      fixture.api,
      await fixture.request(403, `GET /agent/runs/${id}/approvals`, { token: fixture.stranger.token }),
      'not_authorized',
    );
  });
});

describe('decideRunApproval', () => {
  it('rejects the agent identity that executes the run, and accepts another service account', async () => {
    const [identity, bot] = await Promise.all(
      ['agent', 'bot'].map((name) => fixture.api.identities.serviceAccount(fixture.team, name)),
    );
    await fixture.database.query('UPDATE headrace.service_accounts SET is_agent_identity = true WHERE uid = $1', [
      identity?.uid,
    ]);
    const { id, approvalIds } = await block();
    await fixture.database.query(
      `UPDATE headrace.runs SET executor_type = 'service_account', executor_uid = $2 WHERE id = $1`,
      [id, identity?.uid],
    );
    for (const decision of ['allow', 'deny'])
      expectProblem(
        fixture.api,
        await decide(403, id, approvalIds[0], { decision }, identity?.token),
        'not_authorized',
      );
    await decide(200, id, approvalIds[0], { decision: 'allow' }, bot?.token);
  });

  it.each([
    ['allow', 'allowed'],
    ['deny', 'denied'],
  ] as const)('%s continues the run, notifies its runner, and stores who decided', async (decision, state) => {
    const { id, approvalIds, executionId } = await block();
    const before = await commandVersion(executionId);
    const { body } = await decide(200, id, approvalIds[0], { decision, note: 'Only on Fridays. 😀' });
    expect(body).toMatchObject({
      approval_id: approvalIds[0],
      state,
      decided_via: 'user',
      decided_by: { type: 'user', uid: fixture.member.uid, display_name: 'Mia Member' },
      note: 'Only on Fridays. 😀',
      decided_at: expect.any(String),
    });
    expect(await approvals(id)).toEqual([body]);
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await commandVersion(executionId)).toBe(before + 1);
    expect(await lastEvent(id)).toMatchObject({
      event_type: 'permission_decided',
      payload: {
        approval_id: approvalIds[0],
        decision,
        by: 'user',
        note: 'Only on Fridays. 😀',
        principal: { type: 'user', uid: fixture.member.uid },
      },
    });
  });

  it('stores no note without one', async () => {
    const { id, approvalIds } = await block();
    expect((await decide(200, id, approvalIds[0], { decision: 'deny' })).body).not.toHaveProperty('note');
  });

  it('has an entry in the audit log, without the text of the note', async () => {
    const { id, approvalIds } = await block();
    await decide(200, id, approvalIds[0], { decision: 'allow', note: 'Not for the log.' });
    const query = `action=approval.&target_uid=${approvalIds[0]}`;
    const { entries } = (await fixture.request(200, `GET /audit-log?${query}`, { token: fixture.admin.token })).body;
    expect(entries).toMatchObject([
      {
        action: 'approval.decided',
        actor: { type: 'user', uid: fixture.member.uid },
        details: { path: { runId: id }, fields: ['decision', 'note'], decision: 'allow' },
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain('Not for the log.');
  });

  it('keeps the run BLOCKED while another request is pending', async () => {
    const { id, approvalIds } = await block({ approvals: 2 });
    await decide(200, id, approvalIds[0], { decision: 'allow' });
    expect((await get(id)).state).toBe('BLOCKED');
    expectProblem(fixture.api, await decide(409, id, approvalIds[0], { decision: 'deny' }), 'conflict');
    await decide(200, id, approvalIds[1], { decision: 'deny' });
    expect((await get(id)).state).toBe('INPROGRESS');
  });

  it('rejects a second decision with 409 and the first decision', async () => {
    const { id, approvalIds } = await block();
    await decide(200, id, approvalIds[0], { decision: 'deny' });
    const answer = await decide(409, id, approvalIds[0], { decision: 'allow' });
    expectProblem(fixture.api, answer, 'conflict');
    expect(answer.body.detail).toBe('The request was decided before: it is denied.');
    expect((await approvals(id))[0].state).toBe('denied');
  });

  it('accepts one of twenty concurrent decisions', async () => {
    const { id, approvalIds } = await block();
    const answers = await sendConcurrently(fixture.api, lockOfRun(id), () =>
      Array.from({ length: 20 }, (_, index) =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${id}/approvals/${approvalIds[0]}`, {
          token: fixture.member.token,
          body: { decision: index % 2 === 0 ? 'allow' : 'deny' },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(409)]);
    const [winner] = answers.filter(({ status }) => status === 200);
    expect((await approvals(id))[0].state).toBe(winner?.body.state);
  });

  it('rejects a decision for a cancelled run with 409, and does not allow the action', async () => {
    const { id, approvalIds, executionId } = await block();
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token });
    const reported = await commandVersion(executionId);
    const answer = await decide(409, id, approvalIds[0], { decision: 'allow' });
    expectProblem(fixture.api, answer, 'conflict');
    expect(answer.body.detail).toBe('The run does not wait for an answer any more.');
    expect((await approvals(id))[0].state).toBe('pending');
    expect(await commandVersion(executionId)).toBe(reported);
  });
});

describe('a permission request without a decision', () => {
  it('is denied when it expires, and not before', async () => {
    const { id, approvalIds } = await block();
    const sweep = fixture.api.app.get(SweepExecutions, { strict: false });
    await fixture.api.advanceClock(fixture.api.settings.approvalTimeout - 60_000);
    await sweep.execute();
    expect((await get(id)).state).toBe('BLOCKED');
    await fixture.api.advanceClock(61_000);
    await Promise.all([sweep.execute(), sweep.execute()]);
    expect((await get(id)).state).toBe('INPROGRESS');
    expect(await approvals(id)).toEqual([
      expect.objectContaining({ state: 'denied', decided_via: 'timeout', note: 'Nobody answered in time.' }),
    ]);
    expect(await lastEvent(id)).toMatchObject({
      event_type: 'permission_decided',
      payload: { approval_id: approvalIds[0], decision: 'deny', by: 'timeout' },
    });
    expectProblem(fixture.api, await decide(409, id, approvalIds[0], { decision: 'allow' }), 'conflict');
  });
});

describe('a permission request of a runner', () => {
  it('sets the run to BLOCKED, and its decision reaches the runner', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Deploy.', interactive: true },
    });
    const runner = await TestRunner.take(fixture.api, body.run_id);
    expect(runner.assignment).toMatchObject({ permission_policy: 'ask', interactive: true });
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Deploy.' }],
      [
        'permission_requested',
        { approval_id: 'ask-1', tool_call_id: 'call-1', title: 'Deploy', options: [], ask: true },
      ],
    );
    expect(await get(body.run_id)).toMatchObject({ state: 'BLOCKED', is_sandbox_running: true });
    expect(await approvals(body.run_id)).toEqual([
      expect.objectContaining({ approval_id: 'ask-1', tool_call_id: 'call-1', state: 'pending' }),
    ]);
    await decide(200, body.run_id, 'ask-1', { decision: 'allow', note: 'Go.' });
    const { execution_id, lease_epoch } = runner.assignment;
    const commands = await fixture.request(
      200,
      `GET /runner/v1/executions/${execution_id}/commands?lease_epoch=${lease_epoch}&version=1`,
      {
        token: new ExecutionTokens(fixture.api.settings.secretsKey ?? '').mint(execution_id),
      },
    );
    expect(commands.body.decisions).toEqual([{ approval_id: 'ask-1', decision: 'allow', note: 'Go.' }]);
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect((await get(body.run_id)).state).toBe('SUCCEEDED');
  });

  it('has its input in lists while their inputs are not too large together', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Write.', interactive: true },
    });
    const runner = await TestRunner.take(fixture.api, body.run_id);
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Write.' }]);
    const input = { content: 'x'.repeat(120_000) };
    const count = 70;
    for (let index = 0; index < count; index += 5)
      await runner.report(
        ...Array.from({ length: 5 }, (_, offset) => {
          const request = { approval_id: `ask-${index + offset}`, title: 'Write', input, options: [], ask: true };
          return ['permission_requested', request] as const;
        }),
      );
    const listed = await approvals(body.run_id);
    const left = listed.filter((approval: { input: object }) => 'truncated' in approval.input);
    expect(listed).toHaveLength(count);
    expect(left).toHaveLength(1);
    expect(left[0]).toMatchObject({ approval_id: 'ask-4', input: { truncated: true, size_bytes: 120_015 } });
    const { token } = fixture.member;
    const inbox = (await fixture.request(200, 'GET /agent/approvals?state=pending&limit=1', { token })).body.approvals;
    expect(inbox).toMatchObject([{ approval_id: `ask-${count - 1}`, input: { truncated: true } }]);
  });

  it('is withdrawn when the turn ends before a decision', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Deploy.', interactive: true },
    });
    const runner = await TestRunner.take(fixture.api, body.run_id);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Deploy.' }],
      ['permission_requested', { approval_id: 'ask-1', title: 'Deploy', options: [], ask: true }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    expect((await get(body.run_id)).state).toBe('SUCCEEDED');
    expect(await approvals(body.run_id)).toEqual([expect.objectContaining({ state: 'denied', decided_via: 'cancel' })]);
  });
});

describe('invalid input', () => {
  it.each<[unknown, string, string]>([
    [{}, '/decision', 'is required'],
    [{ decision: 'maybe' }, '/decision', 'must be one of allow, allow_always, deny, answer'],
    [{ decision: 'allow', note: 7 }, '/note', 'must be a string'],
    [{ decision: 'allow', note: 'a\0' }, '/note', 'must not contain NUL characters or lone surrogates'],
    [{ decision: 'allow', note: 'n'.repeat(4097) }, '/note', 'must not exceed 4096 characters'],
    [{ decision: 'allow', reason: 'x' }, '/reason', 'is not a known field'],
  ])('is rejected with 400 (case %#), and the request stays pending', async (body, pointer, detail) => {
    const { id, approvalIds } = await block();
    expectProblem(fixture.api, await decide(400, id, approvalIds[0], body), 'invalid_request', [{ pointer, detail }]);
    expect((await approvals(id))[0].state).toBe('pending');
  });

  it('is rejected with 413 when it is too large, and with 415 for another type', async () => {
    const { id, approvalIds } = await block();
    expectProblem(
      fixture.api,
      await decide(413, id, approvalIds[0], { decision: 'allow', note: 'x'.repeat(2_097_152) }),
      'payload_too_large',
    );
    const answer = await fixture.request(415, `POST /agent/runs/${id}/approvals/${approvalIds[0]}`, {
      token: fixture.member.token,
      body: 'allow',
      contentType: 'text/plain',
    });
    expectProblem(fixture.api, answer, 'unsupported_media_type');
  });

  it('rejects unknown requests and runs with 404, and blank ids with 400', async () => {
    const { id, approvalIds } = await block();
    const other = await block();
    const allow = { decision: 'allow' };
    for (const approvalId of [UNKNOWN_RUN_ID, other.approvalIds[0], '%00', 'a'.repeat(129)])
      expectProblem(fixture.api, await decide(404, id, approvalId, allow), 'resource_not_found');
    for (const runId of [UNKNOWN_RUN_ID, 'nonsense'])
      expectProblem(fixture.api, await decide(404, runId, approvalIds[0], allow), 'resource_not_found');
    expectProblem(fixture.api, await decide(400, id, '%20', allow), 'invalid_request');
    expectProblem(fixture.api, await decide(400, '%20', approvalIds[0], allow), 'invalid_request');
    expect((await approvals(id))[0].state).toBe('pending');
  });
});

describe('authorization to decide', () => {
  it('rejects a viewer and another team with 403, and allows the owner of a personal run', async () => {
    const { id, approvalIds } = await block();
    for (const { token } of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await decide(403, id, approvalIds[0], { decision: 'allow' }, token), 'not_authorized');
    expect((await get(id)).state).toBe('BLOCKED');
    const personal = await fixture.runs.build({ by: fixture.viewer, state: 'BLOCKED' });
    await decide(200, personal.id, personal.approvalIds[0], { decision: 'allow' }, fixture.viewer.token);
  });
});
