import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CancelChildRuns } from '#domain/runs';
import { type TestPrincipal, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { maxChildRuns: 6, maxActiveChildRuns: 4, maxDescendantRuns: 8 } });
  await fixture.database.query('UPDATE teams SET max_concurrent_runs = 1000 WHERE uid = $1', [fixture.team]);
});
afterAll(() => fixture.close());

/** A run whose agent works. */
async function start(options: object = {}, by: TestPrincipal = fixture.member): Promise<TestRunner> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: by.token,
    body: { prompt: 'Go.', ...options },
  });
  return take(body.run_id);
}
async function take(runId: string): Promise<TestRunner> {
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  return runner;
}

const post = async (runner: TestRunner, path: string, body: object, status = 200) =>
  (await runner.call(status, `POST ${path}`, {}, { lease_epoch: runner.assignment.lease_epoch, ...body })).body;
const startRun = (runner: TestRunner, fields: object = {}) =>
  post(runner, 'runs', { key: randomUUID(), prompt: 'Do it.', ...fields });
const waitFor = (runner: TestRunner, runIds: readonly string[], fields: object = {}) =>
  post(runner, 'runs/wait', { run_ids: runIds, mode: 'wait', wait: 0, ...fields });
const get = async (runId: string, by = fixture.member) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: by.token })).body;
const executionOf = async ({ assignment }: TestRunner) =>
  (
    await fixture.database.query(
      `SELECT slot_held, awaits_runs_since IS NOT NULL AS waits, slot_wanted_at IS NOT NULL AS wants, busy_since IS NOT NULL AS busy
         FROM executions WHERE id = $1`,
      [assignment.execution_id],
    )
  )[0];
const place = () =>
  fixture.database.query(`SELECT * FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 10, 1000, 60000, 'test')`);
const act = (runId: string, action: 'cancel' | 'followups', body?: object) =>
  fixture.request(200, `POST /agent/runs/${runId}/${action}`, { token: fixture.member.token, ...(body && { body }) });
const cancelChildRuns = () => fixture.api.app.get(CancelChildRuns, { strict: false }).run(new AbortController().signal);

const CHOICE_REFUSED = {
  problem: expect.stringContaining('only runs with its own environment, agent identity and harness'),
};
const read = async (runner: TestRunner, runId: string) => (await runner.call(200, `GET runs/${runId}`)).body;
/** The agent of a run that something outside has started. */
async function takeFrom(source: string): Promise<TestRunner> {
  const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, columns: { source } });
  return take(id);
}
describe('a run that an agent starts', () => {
  it('has the creator, owner, environment, permissions and limits of its parent', async () => {
    const environment = await fixture.createEnvironment({ name: 'app' }, { team: true });
    const config = {
      environment_id: environment,
      permission_policy: 'allow_list',
      permission_allow_list: ['read'],
      max_cost_usd: 3,
      base_prompt: 'Only of the parent.',
    };
    const parent = await start({ config, team: true, metadata: { ticket: '7' } });
    expect(parent.assignment.child_runs).toBe(true);
    const { run_id: runId, state, title } = await startRun(parent, { title: 'Child' });
    expect({ state, title }).toEqual({ state: 'QUEUED', title: 'Child' });
    const child = await get(runId);
    expect(child).toMatchObject({
      parent_run_id: parent.assignment.run_id,
      source: 'ORCHESTRATION',
      scope: (await get(parent.assignment.run_id)).scope,
      creator: { uid: fixture.member.uid },
      metadata: { ticket: '7' },
      agent_config: {
        environment_id: environment,
        permission_policy: 'allow_list',
        permission_allow_list: ['read'],
        max_cost_usd: 3,
      },
    });
    expect(child.agent_config.base_prompt).toBeUndefined();
    // Without a policy, that of an interactive run is inherited.
    const watched = await start({ interactive: true });
    const { run_id: second } = await startRun(watched);
    expect((await get(second)).agent_config.permission_policy).toBe('ask');
  });

  it('is started once for a repeated request', async () => {
    const parent = await start();
    const key = randomUUID();
    const answers = await Promise.all([1, 2, 3].map(() => startRun(parent, { key })));
    const ids = new Set([...answers, await startRun(parent, { key, prompt: 'Other.' })].map(({ run_id: id }) => id));
    expect(ids.size).toBe(1);
    expect((await startRun(parent)).run_id).not.toBe([...ids][0]);
  });

  it('is refused beyond the limits, also to requests at the same time', async () => {
    const parent = await start();
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => startRun(parent)));
    const started = answers.flatMap(({ run_id: id }) => id ?? []);
    expect(started).toHaveLength(4);
    expect(answers.find(({ problem }) => problem)).toEqual({
      problem: expect.stringContaining('the limit (MAX_ACTIVE_CHILD_RUNS) is 4'),
    });
    await fixture.database.query(`UPDATE runs SET state = 'SUCCEEDED' WHERE id = ANY ($1::uuid[])`, [started]);
    for (const _ of [1, 2]) expect(await startRun(parent)).toMatchObject({ state: 'QUEUED' });
    expect(await startRun(parent)).toEqual({ problem: expect.stringContaining('the limit (MAX_CHILD_RUNS) is 6') });
    // Of the whole tree.
    const [active] = await fixture.database.query<{ id: string }>(
      `SELECT id FROM runs WHERE parent_run_id = $1 AND state = 'QUEUED' LIMIT 1`,
      [parent.assignment.run_id],
    );
    const below = await take(active?.id ?? '');
    for (const _ of [1, 2]) expect(await startRun(below)).toMatchObject({ state: 'QUEUED' });
    expect(await startRun(below)).toEqual({ problem: expect.stringContaining('the limit (MAX_DESCENDANT_RUNS) is 8') });
  });

  it('is refused below the maximum depth, which has no such tools', async () => {
    let runner = await start();
    for (let depth = 1; depth <= 5; depth += 1) runner = await take((await startRun(runner)).run_id);
    expect(runner.assignment.child_runs).toBeUndefined();
    expect(await startRun(runner)).toEqual({ problem: expect.stringContaining('the limit (MAX_RUN_DEPTH) is 5') });
  });

  it('needs the rights that the creator of its parent has now', async () => {
    const { identities } = fixture.api;
    const person = await identities.user({ [fixture.team]: 'member' });
    const parent = await start({ team: true }, person);
    const key = randomUUID();
    const { run_id: first } = await startRun(parent, { key });
    await fixture.database.query(`UPDATE memberships SET role = 'viewer' WHERE user_uid = $1`, [person.uid]);
    const refused = { problem: expect.stringContaining('may no longer create such runs') };
    expect(await startRun(parent)).toEqual(refused);
    // What was answered stays answered.
    expect((await startRun(parent, { key })).run_id).toBe(first);
    await fixture.database.query(`UPDATE memberships SET role = 'member' WHERE user_uid = $1`, [person.uid]);
    expect(await startRun(parent)).toMatchObject({ state: 'QUEUED' });
    await fixture.database.query('DELETE FROM memberships WHERE user_uid = $1', [person.uid]);
    expect(await startRun(parent)).toEqual(refused);

    const parentOfBot = await start({}, fixture.bot);
    expect(await startRun(parentOfBot)).toMatchObject({ state: 'QUEUED' });
    await fixture.database.query('UPDATE service_accounts SET disabled_at = headrace.now() WHERE uid = $1', [
      fixture.bot.uid,
    ]);
    expect(await startRun(parentOfBot)).toEqual(refused);
    await fixture.database.query('UPDATE service_accounts SET disabled_at = NULL WHERE uid = $1', [fixture.bot.uid]);
  });

  it('can have another environment of its creator, unless an event from outside has started a run above', async () => {
    const other = await fixture.createEnvironment({ name: 'other' }, { team: true });
    const parent = await start({ team: true });
    const { run_id: child } = await startRun(parent, { environment_id: other });
    expect((await get(child)).agent_config.environment_id).toBe(other);
    expect(await startRun(parent, { environment_id: 'A'.repeat(22) })).toEqual({
      problem: expect.stringContaining('`environment_id` must be an environment of the team'),
    });
    const started = await takeFrom('GITHUB_WEBHOOK');
    expect(await startRun(started, { environment_id: other })).toEqual(CHOICE_REFUSED);
    expect(await startRun(started, { agent_identity_uid: 'A'.repeat(22) })).toEqual(CHOICE_REFUSED);
    expect(await startRun(started, { harness: 'copilot' })).toEqual(CHOICE_REFUSED);
    const below = await startRun(started, { harness: 'oz' });
    expect(await startRun(await take(below.run_id), { environment_id: 'A'.repeat(22) })).toEqual(CHOICE_REFUSED);
  });

  it('has no personal environment of the creator: others can send messages to the agent', async () => {
    const personal = await fixture.createEnvironment({ name: 'mine' }, { by: fixture.member });
    const parent = await start({ team: true });
    expect(await startRun(parent, { environment_id: personal })).toEqual({
      problem: expect.stringContaining('an environment of the team of this run'),
    });
    const own = await start({ team: false });
    expect(await startRun(own, { environment_id: personal })).toMatchObject({ state: 'QUEUED' });
  });

  it('has no agent of which it is not known that it requests permission, where the policy requires it', async () => {
    const refused = {
      problem: expect.stringContaining('not known whether the agent of `harness` or of the agent identity requests'),
    };
    const identity = async (harness: string): Promise<string> => {
      const body = { name: harness, harness: { type: harness } };
      return (await fixture.requestAsAdmin(201, 'POST /agent/identities', body)).uid as string;
    };
    const unchecked = await identity('copilot');
    const asking = await start({ config: { permission_policy: 'ask' } });
    expect(await startRun(asking, { harness: 'copilot' })).toEqual(refused);
    expect(await startRun(asking, { harness: 'unknown' })).toEqual(refused);
    expect(await startRun(asking, { agent_identity_uid: unchecked })).toEqual(refused);
    expect(await startRun(asking, { harness: 'claude', agent_identity_uid: unchecked })).toMatchObject({
      state: 'QUEUED',
    });
    expect(await startRun(asking, { agent_identity_uid: await identity('claude') })).toMatchObject({ state: 'QUEUED' });
    expect(await startRun(asking, { harness: 'claude' })).toMatchObject({ state: 'QUEUED' });
    expect(await startRun(await start({ interactive: true }), { harness: 'copilot' })).toEqual(refused);
    const allowing = await start({ config: { permission_policy: 'allow' } });
    expect(await startRun(allowing, { harness: 'copilot' })).toMatchObject({ state: 'QUEUED' });
    const own = await start({ config: { permission_policy: 'ask', harness: { type: 'copilot' } } });
    expect(await startRun(own, { harness: 'copilot' })).toMatchObject({ state: 'QUEUED' });
  });

  it('plans as the agent that starts it', async () => {
    const parent = await start({ mode: 'plan' });
    const { run_id: child } = await startRun(parent);
    expect((await take(child)).assignment.mode).toBe('plan');
    const message = { token: fixture.member.token, body: { message: 'Do it.', mode: 'normal' } };
    await fixture.request(200, `POST /agent/runs/${parent.assignment.run_id}/followups`, message);
    const { run_id: second } = await startRun(parent);
    expect((await take(second)).assignment.mode).toBe('normal');
  });

  it('is not started for a run that has ended or is stopped', async () => {
    const parent = await start();
    await fixture.request(200, `POST /agent/runs/${parent.assignment.run_id}/cancel`, { token: fixture.member.token });
    expect(await startRun(parent)).toEqual({ problem: 'This run has ended or is being stopped.' });
  });

  it('is cancelled after its parent, with the runs below it', async () => {
    const parent = await start();
    const other = await start({ parent_run_id: parent.assignment.run_id });
    const { run_id: child } = await startRun(parent);
    const { run_id: grandchild } = await startRun(await take(child));
    await cancelChildRuns();
    expect((await get(child)).state).toBe('INPROGRESS');
    await fixture.request(200, `POST /agent/runs/${parent.assignment.run_id}/cancel`, { token: fixture.member.token });
    await cancelChildRuns();
    for (const id of [child, grandchild])
      expect(await get(id)).toMatchObject({
        state: 'CANCELLED',
        status_message: { message: 'Cancelled: the run that has started it was cancelled.' },
      });
    // A person has started it.
    expect((await get(other.assignment.run_id)).state).toBe('INPROGRESS');
  });

  it('is not cancelled when a person continues it after the cancel of its parent', async () => {
    const parent = await start();
    const { run_id: ended } = await startRun(parent);
    const { run_id: active } = await startRun(parent);
    const runner = await take(ended);
    await runner.completeTurn();
    await runner.finish('closed');
    await take(active);
    // A follow-up from before the cancel changes nothing.
    await act(active, 'followups', { message: 'And this.' });
    await fixture.api.advanceClock(1000);
    await act(parent.assignment.run_id, 'cancel');
    await cancelChildRuns();
    expect((await get(active)).state).toBe('CANCELLED');
    for (const id of [ended, active]) {
      await fixture.api.advanceClock(1000);
      await act(id, 'followups', { message: 'Continue.' });
      await cancelChildRuns();
      expect((await get(id)).state).not.toBe('CANCELLED');
    }
  });

  it('is cancelled also after many runs that cannot be cancelled yet', async () => {
    const parentId = (await start()).assignment.run_id;
    const body = { prompt: 'Go.', parent_run_id: parentId };
    const create = async (): Promise<string> =>
      (await fixture.request(200, 'POST /agent/runs', { token: fixture.member.token, body })).body.run_id;
    const change = (ids: readonly string[], state: string) =>
      fixture.database.query('UPDATE runs SET state = $2, started_by_run = true WHERE id = ANY ($1::uuid[])', [
        ids,
        state,
      ]);
    const offered: string[] = [];
    for (let count = 0; count < 150; count += 1) offered.push(await create());
    await change(offered, 'PENDING');
    const last = await create();
    await change([last], 'QUEUED');
    await act(parentId, 'cancel');
    await cancelChildRuns();
    expect((await get(last)).state).toBe('CANCELLED');
    await change(offered, 'SUCCEEDED');
  });

  it('is invalid with fields that break a rule', async () => {
    const parent = await start();
    for (const [fields, pointer] of [
      [{ prompt: ' ' }, '/prompt'],
      [{ key: 'a b' }, '/key'],
      [{ title: 'x'.repeat(513) }, '/title'],
    ] as const)
      expect((await post(parent, 'runs', { key: 'k', prompt: 'Do it.', ...fields }, 400)).errors).toMatchObject([
        { pointer },
      ]);
    expect((await post(parent, 'runs/wait', { run_ids: ['x'], mode: 'wait', wait: 0 }, 400)).errors).toMatchObject([
      { pointer: '/run_ids/0' },
    ]);
    expect((await post(parent, 'runs', { key: 'k', prompt: 'x'.repeat(1_048_577) }, 413)).errors).toMatchObject([
      { pointer: '/prompt' },
    ]);
  });
});

describe('the result of a run that an agent has started', () => {
  it('is read by runs above it only', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    const runner = await take(child);
    const { run_id: grandchild } = await startRun(runner);
    expect(await read(parent, child)).toEqual({
      run: { run_id: child, title: 'Do it.', state: 'INPROGRESS', has_ended: false, artifacts: [] },
    });
    await runner.call(
      200,
      'POST artifacts',
      {},
      {
        lease_epoch: runner.assignment.lease_epoch,
        source_key: 'a',
        artifact_type: 'PULL_REQUEST',
        url: 'https://forge.example/pull/1',
        branch: 'fix',
        status: 'open',
      },
    );
    await runner.completeTurn('All is well.');
    expect(await read(parent, child)).toEqual({
      run: {
        run_id: child,
        title: 'Do it.',
        state: 'SUCCEEDED',
        has_ended: true,
        result: 'All is well.',
        artifacts: [{ artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pull/1', status: 'open' }],
      },
    });
    expect(await read(parent, grandchild)).toMatchObject({ run: { run_id: grandchild } });
    const unknown = { problem: 'No run with this id was started by this run.' };
    const foreign = await start();
    const byPerson = await start({ parent_run_id: parent.assignment.run_id });
    for (const [by, id] of [
      [foreign, child],
      [runner, parent.assignment.run_id],
      [runner, child],
      [parent, byPerson.assignment.run_id],
      [parent, randomUUID()],
      [parent, 'x'],
    ] as const)
      expect(await read(by, id)).toEqual(unknown);
    expect(await waitFor(foreign, [child])).toEqual({ problem: expect.stringContaining(child) });
  });
});

describe('a wait for runs', () => {
  it('holds no slot and counts no working time, and has a slot again when it is over', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    expect(await executionOf(parent)).toEqual({ slot_held: true, waits: false, wants: false, busy: true });
    expect(await waitFor(parent, [child])).toEqual({ is_over: false, run_ids: [child] });
    expect(await executionOf(parent)).toEqual({ slot_held: false, waits: true, wants: false, busy: false });
    expect(await get(parent.assignment.run_id)).toMatchObject({
      state: 'INPROGRESS',
      status_message: { message: 'Waits for a run that it has started.' },
    });
    const before = (await get(parent.assignment.run_id)).run_time;
    await fixture.api.advanceClock(3_600_000);
    expect((await get(parent.assignment.run_id)).run_time).toBe(before);
    // A follow-up reaches it, and takes no slot from the others.
    await fixture.request(200, `POST /agent/runs/${parent.assignment.run_id}/followups`, {
      token: fixture.member.token,
      body: { message: 'And then this.' },
    });
    const { body: commands } = await parent.call(200, 'GET commands', { version: '0', wait: '0' });
    expect(commands.prompts).toMatchObject([{ message: 'And then this.' }]);
    expect(await executionOf(parent)).toMatchObject({ slot_held: false });

    const runner = await take(child);
    const over = waitFor(parent, [child], { wait: 20 });
    await runner.completeTurn('The result.');
    expect(await over).toMatchObject({ is_over: true, runs: [{ run_id: child, result: 'The result.' }] });
    expect(await executionOf(parent)).toEqual({ slot_held: true, waits: false, wants: false, busy: true });
    expect((await get(parent.assignment.run_id)).status_message).toBeUndefined();
    // A repeated request has the same answer.
    expect(await waitFor(parent, [child])).toMatchObject({ is_over: true, runs: [{ run_id: child }] });
    expect(await waitFor(parent, [])).toEqual({ is_over: true, run_ids: [], runs: [] });
  });

  it('gets the next free slot before runs that have not started', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    await waitFor(parent, [child]);
    const runner = await take(child);
    await fixture.database.query(`UPDATE slot_pools SET capacity = used WHERE key = 'pool:hosted'`);
    await fixture.request(200, 'POST /agent/runs', { token: fixture.member.token, body: { prompt: 'Queued.' } });
    // The timeout of the agent: the run below continues, and there is no slot.
    expect(await waitFor(parent, [child], { mode: 'end' })).toEqual({ is_over: false, run_ids: [child] });
    expect(await executionOf(parent)).toMatchObject({ slot_held: false, waits: true, wants: true });
    expect(await place()).toEqual([]);
    await runner.completeTurn();
    expect(await place()).toEqual([]);
    expect(await executionOf(parent)).toMatchObject({ slot_held: true, wants: false });
    expect(await waitFor(parent, [child], { mode: 'end' })).toMatchObject({
      is_over: true,
      runs: [{ state: 'SUCCEEDED' }],
    });
    expect(await executionOf(parent)).toEqual({ slot_held: true, waits: false, wants: false, busy: true });
    await fixture.database.query(`UPDATE slot_pools SET capacity = 1000 WHERE key = 'pool:hosted'`);
  });

  it('leaves its slot to a run that is continued before the agent has continued', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    await waitFor(parent, [child]);
    const runner = await take(child);
    const other = await start();
    await runner.completeTurn();
    await runner.finish('closed');
    const limit = (capacity: string) =>
      fixture.database.query(`UPDATE slot_pools SET capacity = ${capacity} WHERE key = 'pool:hosted'`);
    const waiting = { is_over: false, run_ids: [child] };
    const wanting = { slot_held: false, waits: true, wants: true, busy: false };
    await limit('used');
    expect(await waitFor(parent, [child])).toEqual(waiting);
    expect(await executionOf(parent)).toEqual(wanting);
    await act(child, 'followups', { message: 'One more thing.' });
    await other.completeTurn();
    await limit('used + 1');
    await place();
    expect(await executionOf(parent)).toEqual({ ...wanting, slot_held: true, wants: false });
    expect(await waitFor(parent, [child])).toEqual(waiting);
    expect(await executionOf(parent)).toEqual({ ...wanting, wants: false });
    expect(await place()).toHaveLength(1);
    expect(await executionOf(parent)).toMatchObject({ slot_held: false });
    // The same before it has got one.
    await limit('used');
    await waitFor(parent, [child], { mode: 'end' });
    expect(await executionOf(parent)).toEqual(wanting);
    await waitFor(parent, [child]);
    expect(await executionOf(parent)).toEqual({ ...wanting, wants: false });
    await limit('1000');
  });

  it('is not shown any more in the next turn, also when the report of the turn arrives first', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    await parent.report(['turn_started', { turn_id: 't', prompt: 'Go.' }]);
    await waitFor(parent, [child]);
    await act(parent.assignment.run_id, 'followups', { message: 'More.' });
    await parent.report(['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }]);
    await waitFor(parent, [], { mode: 'abandon' });
    await parent.report(['turn_started', { turn_id: 't2', prompt: 'More.' }]);
    const run = await get(parent.assignment.run_id);
    expect([run.state, run.status_message]).toEqual(['INPROGRESS', undefined]);
    expect(await executionOf(parent)).toEqual({ slot_held: true, waits: false, wants: false, busy: true });
  });

  it('that is abandoned lets the agent continue, and ends with its turn', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    await waitFor(parent, [child]);
    await fixture.database.query(`UPDATE slot_pools SET capacity = used WHERE key = 'pool:hosted'`);
    expect(await waitFor(parent, [], { mode: 'abandon' })).toMatchObject({ is_over: true });
    expect(await executionOf(parent)).toEqual({ slot_held: false, waits: false, wants: true, busy: true });
    await parent.completeTurn();
    expect(await executionOf(parent)).toEqual({ slot_held: false, waits: false, wants: false, busy: false });
    // Too late: an idle session needs no slot.
    await fixture.database.query(`UPDATE slot_pools SET capacity = 1000 WHERE key = 'pool:hosted'`);
    expect(await waitFor(parent, [], { mode: 'abandon' })).toMatchObject({ is_over: true });
    expect(await executionOf(parent)).toMatchObject({ slot_held: false });
  });

  it('names the runs that have not ended, without those of an earlier answer', async () => {
    const parent = await start();
    const { run_id: first } = await startRun(parent);
    const { run_id: second } = await startRun(parent);
    await (await take(first)).completeTurn();
    expect(await waitFor(parent, [], { active: true })).toEqual({ is_over: false, run_ids: [second] });
    expect(await waitFor(parent, [first], { active: true })).toEqual({ is_over: false, run_ids: [first, second] });
  });

  it('is refused to another lease', async () => {
    const parent = await start();
    const { run_id: child } = await startRun(parent);
    const epoch = { lease_epoch: parent.assignment.lease_epoch + 1 };
    for (const [path, body] of [
      ['runs', { key: 'k', prompt: 'Do it.' }],
      ['runs/wait', { run_ids: [child], mode: 'wait', wait: 0 }],
    ] as const)
      await post(parent, path, { ...body, ...epoch }, 412);
  });
});
