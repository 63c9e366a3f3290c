import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alreadyDecided, type DecisionChoice, type SignedDecision, SignedDecisions } from '#domain/runs';
import { type RunShape, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { lockOfRun, untilWaiting } from '../../support/api-requests.js';

const HOUR = 3_600_000;
const ANN = { type: 'chat_user', uid: 'T1/U1', name: 'Ann (Slack)' } as const;
const CHANNEL = { type: 'chat_app', uid: 'T1', revision: 1 } as const;

let fixture: ApiFixture;
let decisions: SignedDecisions;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  decisions = fixture.api.app.get(SignedDecisions, { strict: false });
});
afterAll(() => fixture.close());

const block = (shape: Omit<RunShape, 'by' | 'state'> = {}) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'BLOCKED', ...shape });
const now = async (): Promise<number> =>
  (await fixture.database.query<{ now: Date }>('SELECT headrace.now() AS now'))[0]?.now.getTime() ?? Number.NaN;
async function signedFor(runId: string, approvalId: string | undefined, choice: DecisionChoice, lifeMs = HOUR) {
  const expiresAt = new Date((await now()) + lifeMs);
  const token = decisions.sign({ channel: CHANNEL, runId, approvalId: approvalId ?? '', choice, expiresAt });
  const decision = decisions.verify(token, 'chat_app');
  if (!decision) throw new Error('A token that was just signed was rejected.');
  return decision;
}
const decide = (decision: SignedDecision, change: object = {}) =>
  decisions.decide(decision, {
    decidedBy: ANN,
    teamUid: fixture.team,
    isOpen: () => Promise.resolve(true),
    source: { address: '192.0.2.1' },
    ...change,
  });
const approval = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/approvals`, { token: fixture.member.token })).body.approvals[0];
const lastEvent = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token })).body.events.at(-1);

describe('a signed decision', () => {
  it.each([
    ['allow', 'allowed'],
    ['deny', 'denied'],
  ] as const)('%s continues the run, and records who decided', async (kind, state) => {
    const { id, approvalIds } = await block();
    const result = await decide(await signedFor(id, approvalIds[0], { kind }));
    expect(result).toMatchObject({ kind: 'decided', outcome: { decision: state, by: 'Ann (Slack)' } });
    expect(await approval(id)).toMatchObject({
      state,
      decided_via: 'channel',
      decided_by: { type: 'chat_user', uid: 'T1/U1', display_name: 'Ann (Slack)' },
    });
    expect(await lastEvent(id)).toMatchObject({
      event_type: 'permission_decided',
      payload: {
        approval_id: approvalIds[0],
        decision: kind,
        by: 'channel',
        principal: { type: 'chat_user', uid: 'T1/U1', name: 'Ann (Slack)' },
      },
    });
    const { body } = await fixture.request(200, 'GET /audit-log?action=approval.decided&limit=1', {
      token: fixture.owner.token,
    });
    expect(body.entries[0]).toMatchObject({
      actor: { type: 'chat_user', uid: 'T1/U1', name: 'Ann (Slack)' },
      target: { type: 'approval', uid: approvalIds[0] },
      source: { address: '192.0.2.1' },
      details: { path: { runId: id }, decision: kind, channel: { type: 'chat_app', uid: 'T1' } },
    });
  });

  it('counts once, also when it is sent several times at once', async () => {
    const { id, approvalIds } = await block();
    const tokens = await Promise.all(
      (['allow', 'deny'] as const).map((kind) => signedFor(id, approvalIds[0], { kind })),
    );
    const results = await Promise.all(tokens.flatMap((token) => Array.from({ length: 4 }, () => decide(token))));
    expect(results.filter(({ kind }) => kind === 'decided')).toHaveLength(1);
    expect(results.filter(({ kind }) => kind === 'already_decided')).toHaveLength(7);
  });

  it('names the user who has decided before', async () => {
    const { id, approvalIds } = await block();
    const { token } = fixture.member;
    await fixture.request(200, `POST /agent/runs/${id}/approvals/${approvalIds[0]}`, {
      token,
      body: { decision: 'deny' },
    });
    const result = await decide(await signedFor(id, approvalIds[0], { kind: 'allow' }));
    if (result.kind !== 'already_decided') throw new Error(result.kind);
    expect(alreadyDecided(result.outcome)).toMatch(
      /^Already decided by Mia Member at \d{4}-\d\d-\d\d \d\d:\d\d UTC: denied\.$/,
    );
  });

  it('expires, and then decides nothing', async () => {
    const { id, approvalIds } = await block();
    const decision = await signedFor(id, approvalIds[0], { kind: 'allow' }, -1000);
    expect(await decide(decision)).toEqual({ kind: 'expired' });
    expect((await approval(id)).state).toBe('pending');
  });

  it('comes too late for a run that was cancelled', async () => {
    const { id, approvalIds } = await block();
    const decision = await signedFor(id, approvalIds[0], { kind: 'allow' });
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token });
    expect(['not_waiting', 'already_decided']).toContain((await decide(decision)).kind);
  });

  it('is not valid for another team, an unknown request, or a channel that was closed meanwhile', async () => {
    const { id, approvalIds } = await block();
    const decision = await signedFor(id, approvalIds[0], { kind: 'allow' });
    const otherTeam = await fixture.api.identities.team('Other');
    expect(await decide(decision, { teamUid: otherTeam })).toEqual({ kind: 'not_valid' });
    expect(await decide(await signedFor(id, 'unknown', { kind: 'allow' }))).toEqual({ kind: 'not_valid' });
    const personal = await fixture.runs.build({ by: fixture.member, state: 'BLOCKED' });
    const ofPerson = await signedFor(personal.id, personal.approvalIds[0], { kind: 'allow' });
    expect(await decide(ofPerson)).toEqual({ kind: 'not_valid' });
    expect(await decide(decision, { isOpen: () => Promise.resolve(false) })).toEqual({ kind: 'not_valid' });
    expect((await approval(id)).state).toBe('pending');
  });

  it('reads whether the channel is open after it has waited for the run', async () => {
    const { id, approvalIds } = await block();
    const decision = await signedFor(id, approvalIds[0], { kind: 'allow' });
    let isOpen = true;
    const blocker = new pg.Client({ connectionString: fixture.database.url });
    await blocker.connect();
    await blocker.query(`BEGIN; ${lockOfRun(id)}`);
    const deciding = decide(decision, { isOpen: () => Promise.resolve(isOpen) });
    await untilWaiting(fixture.api, 1);
    isOpen = false;
    await blocker.query('COMMIT');
    await blocker.end();
    expect(await deciding).toEqual({ kind: 'not_valid' });
  });

  it('of another kind of channel is forged', async () => {
    const { id, approvalIds } = await block();
    const { channel, ...rest } = await signedFor(id, approvalIds[0], { kind: 'allow' });
    expect(decisions.verify(decisions.sign({ channel, ...rest }), 'notification_webhook')).toBeNull();
  });

  it('denies, but does not allow, in an environment that is not of the team', async () => {
    const { token } = fixture.member;
    const body = { config: { name: 'mine' }, team: false };
    const { uid } = (await fixture.request(201, 'POST /environments', { token, body })).body;
    const { id, approvalIds } = await block({ config: { environment_id: uid } });
    expect(await decide(await signedFor(id, approvalIds[0], { kind: 'allow' }))).toEqual({
      kind: 'not_allowed',
      reason: 'environment',
    });
    expect((await decide(await signedFor(id, approvalIds[0], { kind: 'deny' }))).kind).toBe('decided');
  });
});

describe('a signed decision about a question', () => {
  const OPTIONS = [
    { option_id: '1', name: 'Blue', kind: 'answer' },
    { option_id: '2', name: 'Red', kind: 'answer' },
  ];

  async function ask(allowsText: boolean, fields: object = {}): Promise<{ runId: string; runner: TestRunner }> {
    const { token } = fixture.member;
    const runId = (await fixture.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.', team: true } })).body
      .run_id;
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    const question = { approval_id: 'q1', kind: 'question', title: 'Which?', options: OPTIONS, allow_text: allowsText };
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['permission_requested', { ...question, ...fields, ask: true }],
    );
    return { runId, runner };
  }

  it('answers with the option, and the agent learns who has answered', async () => {
    const { runId, runner } = await ask(false);
    const result = await decide(await signedFor(runId, 'q1', { kind: 'option', index: 1 }));
    expect(result).toMatchObject({ kind: 'decided', outcome: { decision: 'answered: Red', by: 'Ann (Slack)' } });
    const { execution_id: execution, lease_epoch: epoch } = runner.assignment;
    const line = `GET /runner/v1/executions/${execution}/commands?lease_epoch=${epoch}&version=0`;
    const { decisions: commanded } = (await fixture.request(200, line, { token: runner.token })).body;
    expect(commanded).toMatchObject([
      {
        approval_id: 'q1',
        decision: 'answer',
        answer: { option_id: '2', option: 'Red' },
        answered_by: { type: 'chat_user', name: 'Ann (Slack)' },
      },
    ]);
  });

  it('answers with a text where the question accepts one', async () => {
    const { runId } = await ask(true);
    const text = await signedFor(runId, 'q1', { kind: 'text' });
    expect(await decide(text)).toMatchObject({ kind: 'invalid' });
    expect(await decide(text, { text: 'Green' })).toMatchObject({ kind: 'decided' });
    expect((await approval(runId)).answer).toEqual({ text: 'Green' });
  });

  it.each([
    ['a title with a password', { title: 'Use https://user:hunter2@example.com/?' }],
    ['a title with many empty lines', { title: `Which?${'\n \n'.repeat(5)}And also this.` }],
    ['an option with many spaces', { options: [OPTIONS[0], { ...OPTIONS[1], name: `Red${'\u3164 '.repeat(100)}!` }] }],
  ])('does not answer where the channel does not show all: %s', async (_name, fields) => {
    const { runId } = await ask(true, fields);
    expect(await decide(await signedFor(runId, 'q1', { kind: 'option', index: 1 }))).toEqual({
      kind: 'not_allowed',
      reason: 'input',
    });
    expect((await approval(runId)).state).toBe('pending');
  });

  it('does not answer with a text, an option that does not exist, or a permission', async () => {
    const { runId } = await ask(false);
    const choices: DecisionChoice[] = [{ kind: 'text' }, { kind: 'option', index: 2 }, { kind: 'allow' }];
    for (const choice of choices)
      expect(await decide(await signedFor(runId, 'q1', choice), { text: 'x' })).toMatchObject({ kind: 'invalid' });
    expect((await approval(runId)).state).toBe('pending');
  });
});
