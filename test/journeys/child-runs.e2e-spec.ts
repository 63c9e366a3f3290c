import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase, TestIdentities } from '#testing';
import { answersIn, Installation, type Program, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const tool = (name: string, input: object = {}): string => `\`\`\`tool name=${name}\n${JSON.stringify(input)}\n\`\`\``;
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;
const WAIT = tool('wait_for_runs');
const startsAll = (prompts: readonly string[]): string =>
  prompts.map((prompt, index) => tool('start_run', { prompt, title: `child ${index + 1}` })).join('\n\n');

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Run = any;

describe('runs that an agent starts', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  beforeAll(async () => {
    installation = await Installation.create({
      MAX_CONCURRENT_RUNS: '1',
      MAX_IDLE_SESSIONS: '0',
      MAX_RUN_DEPTH: '2',
      MAX_CHILD_RUNS: '4',
      MAX_ACTIVE_CHILD_RUNS: '3',
    });
    server = await installation.up();
  });
  afterAll(async () => {
    await server.stopCleanly('SIGINT');
    installation.remove();
  });

  const conversation = async (runId: string): Promise<string> =>
    answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
  const childrenOf = async (runId: string): Promise<Run[]> =>
    (await installation.call('GET', `/agent/runs?ancestor_run_id=${runId}&sort_by=created_at&sort_order=asc`)).body
      .runs;
  const isOnly = async (state: string, runIds: readonly string[]): Promise<boolean> => {
    const { body } = await installation.call('GET', `/agent/runs?state=${state}`);
    return JSON.stringify(body.runs.map(({ run_id: id }: Run) => id)) === JSON.stringify(runIds);
  };

  it('return their results to it, with one slot for all of them', async () => {
    const prompts = [1, 2, 3].map((number) => `${sh(`echo result-${number} > out.txt`)}\n\n${sh('cat out.txt')}`);
    const artifact = tool('report_artifact', {
      artifact_type: 'EXTERNAL_REFERENCE',
      url: 'https://tracker.example.com/7',
      reference_type: 'ticket',
    });
    const runId = await installation.createRun([startsAll([...prompts.slice(0, 2), artifact]), WAIT].join('\n\n'));
    const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 90_000);
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    const children = await childrenOf(runId);
    expect(children).toMatchObject(
      [1, 2, 3].map((number) => ({
        title: `child ${number}`,
        state: 'SUCCEEDED',
        source: 'ORCHESTRATION',
        parent_run_id: runId,
        creator: run.creator,
      })),
    );
    const said = await conversation(runId);
    expect(said).toContain('3 of 3 runs have ended.');
    expect(said).toContain('result-1');
    expect(said).toContain('result-2');
    expect(said).toContain('https://tracker.example.com/7');
    for (const { run_id: id } of children) expect(said).toContain(id);
    // Each use is a tool call.
    expect(said.match(/The run was started\./g)?.length).toBeGreaterThanOrEqual(3);
  });

  it.runIf(isLong)('can start runs themselves, down to the maximum depth, with one slot for all levels', async () => {
    const leaf = [sh('echo the-leaf'), tool('start_run', { prompt: 'deeper' })].join('\n\n');
    const middle = [tool('start_run', { prompt: leaf, title: 'leaf' }), WAIT].join('\n\n');
    const runId = await installation.createRun(
      [tool('start_run', { prompt: middle, title: 'middle' }), WAIT].join('\n\n'),
    );
    await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR'], 90_000);
    const below = await childrenOf(runId);
    expect(below.map(({ title, state }) => [title, state])).toEqual([
      ['middle', 'SUCCEEDED'],
      ['leaf', 'SUCCEEDED'],
    ]);
    expect(await conversation(below[0].run_id)).toContain('the-leaf');
    // At the limit there is no such tool.
    expect(await conversation(below[1].run_id)).toContain('start_run not found');
  });

  it.runIf(isLong)('are limited in number, and the run continues', async () => {
    const ends = tool('wait_for_runs', {});
    const runId = await installation.createRun(
      [startsAll(['a', 'b', 'c', 'd']), ends, startsAll(['e', 'f']), WAIT].join('\n\n'),
    );
    await installation.waitFor(runId, ['SUCCEEDED'], 90_000);
    const said = await conversation(runId);
    expect(said).toContain(
      '3 runs that this run has started have not ended, and the limit (MAX_ACTIVE_CHILD_RUNS) is 3.',
    );
    expect(said).toContain('This run has started 4 runs, and the limit (MAX_CHILD_RUNS) is 4.');
    expect(await childrenOf(runId)).toHaveLength(4);
  });

  it('are cancelled with it while it waits for them', async () => {
    const below = [tool('start_run', { prompt: sh('sleep 600'), title: 'below' }), WAIT].join('\n\n');
    const runId = await installation.createRun([startsAll([below]), WAIT].join('\n\n'));
    await until(
      async () => (await childrenOf(runId)).some(({ title, state }) => title === 'below' && state === 'INPROGRESS'),
      60_000,
      'the run below',
    );
    expect(await installation.run(runId)).toMatchObject({
      state: 'INPROGRESS',
      status_message: { message: 'Waits for a run that it has started.' },
    });
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    await until(
      async () => (await childrenOf(runId)).every(({ state }) => state === 'CANCELLED'),
      30_000,
      'the end of all runs',
    );
    // The slot is free again.
    const next = await installation.createRun(sh('echo next'));
    await installation.waitFor(next, ['SUCCEEDED'], 60_000);
  });

  it('continue when their wait is interrupted', async () => {
    const runId = await installation.createRun([startsAll([sh('sleep 600')]), WAIT, sh('echo never')].join('\n\n'));
    await until(async () => (await childrenOf(runId))[0]?.state === 'INPROGRESS', 60_000, 'the run below');
    expect((await installation.call('POST', `/agent/runs/${runId}/interrupt`)).status).toBe(202);
    await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'CANCELLED'], 30_000);
    const [child] = await childrenOf(runId);
    expect(child.state).toBe('INPROGRESS');
    expect(await isOnly('INPROGRESS', [child.run_id])).toBe(true);
    await installation.call('POST', `/agent/runs/${child.run_id}/cancel`);
    await installation.waitFor(child.run_id, ['CANCELLED']);
  });

  it('are hidden from the agents of other runs', async () => {
    const other = await installation.createRun('Nothing to do.');
    await installation.waitFor(other, ['SUCCEEDED'], 60_000);
    const runId = await installation.createRun(
      [
        tool('get_run', { run_id: other }),
        tool('wait_for_runs', { run_ids: [other] }),
        tool('get_run', { run_id: 'x' }),
      ].join('\n\n'),
    );
    await installation.waitFor(runId, ['SUCCEEDED'], 60_000);
    const said = await conversation(runId);
    expect(said).toContain('No run with this id was started by this run.');
    expect(said).toContain(`No run with this id was started by this run. (${other})`);
    expect(said).toContain('must be the id of a run');
  });
});

describe.runIf(isLong)('a wait for runs', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let installation: Installation;
  let processes: Program[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    installation = await Installation.create({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '4',
      QUEUE_POOL_SIZE: '6',
      MAX_CONCURRENT_RUNS: '1',
      LEASE_TTL: '30s',
    });
    processes = [installation.start('api'), installation.start('processor')];
    await Promise.all(processes.map((one, index) => one.says(`Headrace ${['API', 'processor'][index]} is ready`)));
  });
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.stop()));
    installation.remove();
    await database.close();
  });

  it('survives a restart of the API', async () => {
    const identities = new TestIdentities(database);
    const user = await identities.user({ [await identities.team('Builders')]: 'member' });
    const call = (method: string, path: string, body?: object) => installation.callAt(method, path, body, user.token);
    const flag = `${installation.dataDir}-flag`;
    const child = sh(`until [ -e ${flag} ]; do sleep 0.2; done; echo the-result`);
    const prompt = [tool('start_run', { prompt: child }), WAIT].join('\n\n');
    const { body } = await call('POST', '/agent/runs', { prompt });
    const stateOf = async (): Promise<Run> => (await call('GET', `/agent/runs/${body.run_id}`)).body;
    const childOf = async (): Promise<Run> =>
      (await call('GET', `/agent/runs?ancestor_run_id=${body.run_id}`)).body.runs?.[0];
    await until(async () => (await childOf())?.state === 'INPROGRESS', 60_000, 'the run below');

    const [api] = processes;
    await api?.stop('SIGKILL');
    const again = installation.start('api');
    processes[0] = again;
    await again.says('Headrace API is ready');
    expect(await stateOf()).toMatchObject({ state: 'INPROGRESS' });
    await installation.shell(`touch ${flag}`, '/');
    await until(async () => (await stateOf()).state === 'SUCCEEDED', 60_000, 'the end of the run');
    const { body: shown } = await call('GET', `/agent/runs/${body.run_id}/conversation`);
    expect(answersIn(shown)).toContain('1 of 1 runs have ended.');
    expect(answersIn(shown)).toContain('the-result');
    expect(await database.query('SELECT used FROM slot_pools WHERE key = $1', ['pool:hosted'])).toEqual([{ used: 0 }]);
  });
});
