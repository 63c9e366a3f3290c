import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecutionTokens, SweepExecutions } from '#execution/executions';
import type { PermissionSubject } from '#execution/runner-protocol';
import { TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const PUSH: PermissionSubject = { type: 'command', value: 'git push', tool: 'Bash' };

const request = async (status: number, line: string, body?: object) =>
  (await fixture.request(status, line, { token: fixture.member.token, ...(body === undefined ? {} : { body }) })).body;
const create = async (config: object = {}): Promise<string> =>
  (await request(200, 'POST /agent/runs', { prompt: 'Go.', interactive: true, config })).run_id;
const asking = async (config: object = {}): Promise<{ runId: string; runner: TestRunner }> => {
  const runId = await create(config);
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
  return { runId, runner };
};
const ask = (runner: TestRunner, id: string, subject: PermissionSubject | undefined = PUSH, title = 'Push') =>
  runner.report(['permission_requested', { approval_id: id, title, options: [], ask: true, subject }]);
const decide = (status: number, runId: string, id: string, decision: string) =>
  request(status, `POST /agent/runs/${runId}/approvals/${id}`, { decision });
const approvals = (runId: string) => request(200, `GET /agent/runs/${runId}/approvals`);
const state = async (runId: string): Promise<string> => (await request(200, `GET /agent/runs/${runId}`)).state;
const decisions = async (runId: string) =>
  (await request(200, `GET /agent/runs/${runId}/timeline`)).events
    .filter(({ event_type: type }: { event_type: string }) => type === 'permission_decided')
    .map(({ payload }: { payload: object }) => payload);
const commands = async ({ assignment }: TestRunner) => {
  const { execution_id: id, lease_epoch: epoch } = assignment;
  const token = new ExecutionTokens(fixture.api.settings.secretsKey ?? '').mint(id);
  const path = `/runner/v1/executions/${id}/commands?lease_epoch=${epoch}&version=0`;
  return (await fixture.request(200, `GET ${path}`, { token })).body;
};

describe('allow_always', () => {
  it('is stored as a rule of the run, sent to the runner, listed, and shown in the timeline', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'first');
    const decided = await decide(200, runId, 'first', 'allow_always');
    expect(decided).toMatchObject({ state: 'allowed', always: true, subject: PUSH, decided_via: 'user' });
    expect(await approvals(runId)).toEqual({ approvals: [decided], rules: [decided] });
    expect((await commands(runner)).decisions).toEqual([{ approval_id: 'first', decision: 'allow', always: true }]);
    expect(await decisions(runId)).toEqual([
      expect.objectContaining({
        approval_id: 'first',
        decision: 'allow',
        always: true,
        by: 'user',
        principal: { type: 'user', uid: fixture.member.uid },
      }),
    ]);
  });

  it('also decides pending requests that the rule matches, and no others', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'first');
    await ask(runner, 'same');
    await ask(runner, 'other-tool', { ...PUSH, tool: 'remote' });
    await ask(runner, 'other-command', { ...PUSH, value: 'git push --force' });
    await decide(200, runId, 'first', 'allow_always');
    const { approvals: all } = await approvals(runId);
    expect(
      all.map(({ approval_id: id, state: is, decided_via: via, rule_id: rule }: never) => [id, is, via, rule]),
    ).toEqual([
      ['first', 'allowed', 'user', undefined],
      ['same', 'allowed', 'rule', 'first'],
      ['other-tool', 'pending', undefined, undefined],
      ['other-command', 'pending', undefined, undefined],
    ]);
    expect(await state(runId)).toBe('BLOCKED');
    expect(await decisions(runId)).toMatchObject([
      { approval_id: 'first', by: 'user' },
      { approval_id: 'same', decision: 'allow', by: 'rule', rule_id: 'first' },
    ]);
    await decide(409, runId, 'same', 'deny');
  });

  it('decides a matching request that arrives later, without blocking the run', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'first');
    await decide(200, runId, 'first', 'allow_always');
    await ask(runner, 'late');
    expect(await state(runId)).toBe('INPROGRESS');
    expect((await commands(runner)).decisions).toContainEqual({ approval_id: 'late', decision: 'allow' });
    expect((await approvals(runId)).approvals).toContainEqual(
      expect.objectContaining({ approval_id: 'late', state: 'allowed', decided_via: 'rule', rule_id: 'first' }),
    );
    expect(await decisions(runId)).toContainEqual(expect.objectContaining({ approval_id: 'late', by: 'rule' }));
  });

  it('applies to later executions of the run, and to no other run', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'first');
    await decide(200, runId, 'first', 'allow_always');
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    await runner.finish();
    await request(200, `POST /agent/runs/${runId}/followups`, { message: 'Again.' });
    const next = await TestRunner.take(fixture.api, runId);
    expect(next.assignment.permission_rules).toEqual([{ approval_id: 'first', subject: PUSH }]);
    const { runner: other, runId: otherRun } = await asking();
    expect(other.assignment.permission_rules).toBeUndefined();
    await ask(other, 'first');
    expect(await state(otherRun)).toBe('BLOCKED');
  });

  it('matches by the title when the runner reports no rule', async () => {
    const { runId, runner } = await asking();
    await runner.report(['permission_requested', { approval_id: 'first', title: 'Deploy', options: [], ask: true }]);
    const decided = await decide(200, runId, 'first', 'allow_always');
    expect(decided.subject).toEqual({ type: 'title', value: 'Deploy' });
    await runner.report(['permission_requested', { approval_id: 'same', title: 'Deploy', options: [], ask: true }]);
    expect(await state(runId)).toBe('INPROGRESS');
    await runner.report(['permission_requested', { approval_id: 'next', title: 'Deploy 2', options: [], ask: true }]);
    expect(await state(runId)).toBe('BLOCKED');
  });
});

describe('permission requests that a runner reports', () => {
  it.each<[string, object]>([
    ['without an id', { title: 'Deploy', options: [], ask: true }],
    ['with an id that nobody could ask for', { approval_id: 'a/b', title: 'Deploy', options: [], ask: true }],
  ])('%s is not a permission request, and does not block the run', async (_what, data) => {
    const { runId, runner } = await asking();
    await runner.report(['permission_requested', data]);
    expect(await state(runId)).toBe('INPROGRESS');
    expect((await approvals(runId)).approvals).toEqual([]);
  });

  it('in the format of the agent are converted', async () => {
    const { runId, runner } = await asking();
    const options = [{ option_id: 'y', name: 'Yes', kind: 'allow_once' }, { name: 'No' }, null];
    const subject = { type: 'anything', value: 7 };
    await runner.report(['permission_requested', { approval_id: 'q', options, ask: true, subject }]);
    expect((await approvals(runId)).approvals).toEqual([
      expect.objectContaining({
        approval_id: 'q',
        title: 'Permission',
        options: [options[0]],
        subject: { type: 'title', value: 'Permission' },
      }),
    ]);
  });

  it('with the id of a decided request are ignored, and the run continues', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'q');
    await decide(200, runId, 'q', 'deny');
    await ask(runner, 'q');
    expect(await state(runId)).toBe('INPROGRESS');
  });

  it('with a forged decision of a user are stored as decided by the policy', async () => {
    const { runId, runner } = await asking();
    const principal = { type: 'user', uid: fixture.member.uid };
    await runner.report(
      ['permission_requested', { approval_id: 'p', title: 'Deploy', options: [], ask: false }],
      ['permission_decided', { approval_id: 'p', decision: 'allow', by: 'user', principal }],
    );
    expect(await decisions(runId)).toEqual([{ approval_id: 'p', decision: 'allow', by: 'policy' }]);
  });

  it('that are open at the end of the turn are withdrawn in the timeline', async () => {
    const { runId, runner } = await asking();
    await ask(runner, 'q');
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    expect(await decisions(runId)).toEqual([
      expect.objectContaining({ approval_id: 'q', decision: 'deny', by: 'cancel', title: 'Push' }),
    ]);
  });
});

describe('the timeout of a permission request', () => {
  it('is taken from the run, and denies the request', async () => {
    const { runId, runner } = await asking({ approval_timeout_minutes: 120 });
    await ask(runner, 'q');
    const [{ requested_at: from, expires_at: until }] = (await approvals(runId)).approvals;
    expect(Date.parse(until) - Date.parse(from)).toBe(120 * 60_000);
    const sweep = fixture.api.app.get(SweepExecutions, { strict: false });
    // Nobody beats for the runner; its lease must not end first.
    await fixture.database.query(
      `UPDATE executions SET lease_expires_at = now() + interval '1 year' WHERE run_id = $1`,
      [runId],
    );
    await fixture.api.advanceClock(119 * 60_000);
    await sweep.execute();
    expect(await state(runId)).toBe('BLOCKED');
    await fixture.api.advanceClock(2 * 60_000);
    await sweep.execute();
    expect(await state(runId)).toBe('INPROGRESS');
    expect(await decisions(runId)).toMatchObject([{ approval_id: 'q', decision: 'deny', by: 'timeout' }]);
  });
});
