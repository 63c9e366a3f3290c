import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { ConnectedWorkers } from './connected-workers.js';

let fixture: ApiFixture;
let workers: ConnectedWorkers;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { selfHostedCancel: true } });
  workers = await ConnectedWorkers.start(fixture);
});
afterAll(() => workers.close());

describe('the capacity of a worker', () => {
  it('is the number of slots in its hello: a run beyond it waits until another has ended', async () => {
    const host = workers.newHost();
    const { worker } = await workers.connectWithHello(host, { instance_id: 'daemon-1', slots: 1 });
    const first = await workers.createRun(host);
    await worker.next('task_assignment');
    worker.claim(first);
    const second = await workers.createRun(host);
    await worker.handled();
    expect((await workers.getRun(second)).state).toBe('QUEUED');
    worker.complete(first);
    expect((await worker.next('task_assignment')).data.task_id).toBe(second);
  });

  it('is freed by closing the session that is idle for the longest time', async () => {
    const host = workers.newHost();
    const { worker } = await workers.connectWithHello(host, { instance_id: 'daemon-1', slots: 1 });
    const first = await workers.createRun(host);
    const runner = await workers.startRunner(await worker.next('task_assignment'));
    await runner.begin();
    await runner.endTurn();
    const second = await workers.createRun(host);
    await vi.waitFor(async () => expect((await runner.commands(1)).desired).toBe('close'), { interval: 20 });
    await runner.finish('closed');
    worker.complete(first);
    expect((await worker.next('task_assignment')).data.task_id).toBe(second);
    expect((await workers.getRun(first)).state).toBe('SUCCEEDED');
  });

  it('is not used while the worker drains', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    worker.say({ type: 'beat', data: { draining: true, free_slots: 3, tasks: [] } });
    await worker.next('beat');
    const runId = await workers.createRun(host);
    worker.say({ type: 'beat', data: { draining: true, free_slots: 2, tasks: [] } });
    await worker.next('beat');
    expect(worker.kept).toEqual([]);
    worker.say({ type: 'beat', data: { draining: false, free_slots: 3, tasks: [] } });
    expect((await worker.next('task_assignment')).data.task_id).toBe(runId);
  });
});

describe('skills in skills_dirs of a worker', () => {
  const skills = [
    {
      name: 'tidy-up',
      description: 'Tidies up.',
      repository: 'acme/tools',
      path: '.claude/skills/tidy/SKILL.md',
    },
  ];
  const variants = async (token: string, query = '') => {
    const { body } = await fixture.request(200, `GET /agent${query}`, { token });
    const agents = body.agents as { name: string; variants: { id: string; source: object }[] }[];
    return agents.find(({ name }) => name === 'tidy-up')?.variants ?? [];
  };

  it('are listed with the host while it is connected, for its team alone', async () => {
    const host = workers.newHost();
    const { worker } = await workers.connectWithHello(host, { instance_id: 'daemon-1', slots: 1, skills });
    await worker.handled();
    expect(await variants(fixture.bot.token)).toMatchObject([
      {
        id: 'acme/tools:.claude/skills/tidy/SKILL.md',
        description: 'Tidies up.',
        source: { owner: 'acme', name: 'tools', skill_path: '.claude/skills/tidy/SKILL.md', worker_host: host },
        environments: [],
      },
    ]);
    const other = await fixture.api.identities.serviceAccount(await fixture.api.identities.team());
    expect(await variants(other.token)).toEqual([]);
    await worker.vanish();
    await vi.waitFor(async () => expect(await variants(fixture.bot.token)).toEqual([]));
  });
});

describe('a cancellation where it is allowed', () => {
  it('is sent to the worker, and the worker’s last message ends the execution', async () => {
    const host = workers.newHost();
    const worker = await workers.connect(host);
    const runId = await workers.createRun(host);
    const offer = await worker.next('task_assignment');
    worker.claim(runId);
    await worker.handled();
    expect((await workers.getRun(runId)).is_run_type_cancellable).toBe(true);
    await fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token: fixture.bot.token });
    expect((await worker.next('task_cancellation')).data).toEqual({ task_id: runId });
    expect(await workers.getRun(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: true });
    worker.say({
      type: 'beat',
      data: { draining: false, free_slots: 1, tasks: [{ task_id: runId, execution_id: offer.data.execution_id }] },
    });
    expect((await worker.next('beat')).data.tasks.map(({ desired }) => desired)).toEqual(['stop']);
    worker.complete(runId, { task_state: 'CANCELLED' });
    await worker.handled();
    expect(await workers.getRun(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
  });

  it('of a queued run needs no worker', async () => {
    const runId = await workers.createRun(workers.newHost());
    await fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token: fixture.bot.token });
    expect((await workers.getRun(runId)).state).toBe('CANCELLED');
  });
});

describe('two instances of the API', () => {
  let other: TestApi;

  beforeAll(async () => {
    other = await startTestApi({ database: fixture.database, settings: { selfHostedCancel: true } });
  });
  afterAll(() => other.close());

  it('offer runs once to workers of each other, and cancel them there', async () => {
    const host = workers.newHost();
    const here = await workers.connect(host);
    const there = await new ConnectedWorkers(fixture.at(other)).connect(host);
    const runs = await Promise.all(Array.from({ length: 6 }, () => workers.createRun(host)));
    const offered = await Promise.all(
      [here, there].map(async (worker) => {
        const tasks: string[] = [];
        while (tasks.length < 3) tasks.push((await worker.next('task_assignment')).data.task_id);
        return { worker, tasks };
      }),
    );
    expect(offered.flatMap(({ tasks }) => tasks).sort()).toEqual([...runs].sort());
    for (const { worker, tasks } of offered) {
      for (const task of tasks) worker.claim(task);
      await worker.handled();
      expect(worker.kept).toEqual([]);
    }
    const [onThere = ''] = offered[1]?.tasks ?? [];
    await fixture.request(200, `POST /agent/runs/${onThere}/cancel`, { token: fixture.bot.token });
    expect((await there.next('task_cancellation')).data.task_id).toBe(onThere);
    await Promise.all([here.vanish(), there.vanish()]);
  });

  it('offer a run of one instance to a worker of the other', async () => {
    const host = workers.newHost();
    const there = await new ConnectedWorkers(fixture.at(other)).connect(host);
    const runId = await workers.createRun(host);
    expect((await there.next('task_assignment')).data.task_id).toBe(runId);
    await there.vanish();
  });
});
