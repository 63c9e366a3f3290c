import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { WorkersRoom } from './workers-room.js';

let room: WorkersRoom;

beforeAll(async () => {
  room = await WorkersRoom.open({ settings: { selfHostedCancel: true } });
});
afterAll(() => room.close());

describe('the room of a worker', () => {
  it('is what it has said: a run beyond it waits until another has ended', async () => {
    const host = room.newHost();
    const { worker } = await room.greet(host, { instance_id: 'daemon-1', slots: 1 });
    const first = await room.create(host);
    await worker.next('task_assignment');
    worker.claim(first);
    const second = await room.create(host);
    await worker.handled();
    expect((await room.run(second)).state).toBe('QUEUED');
    worker.complete(first);
    expect((await worker.next('task_assignment')).data.task_id).toBe(second);
  });

  it('is made by closing the session that has idled the longest', async () => {
    const host = room.newHost();
    const { worker } = await room.greet(host, { instance_id: 'daemon-1', slots: 1 });
    const first = await room.create(host);
    const runner = await room.startRunner(await worker.next('task_assignment'));
    await runner.begin();
    await runner.endTurn();
    const second = await room.create(host);
    await vi.waitFor(async () => expect((await runner.commands(1)).desired).toBe('close'), { interval: 20 });
    await runner.finish('closed');
    worker.complete(first);
    expect((await worker.next('task_assignment')).data.task_id).toBe(second);
    expect((await room.run(first)).state).toBe('SUCCEEDED');
  });

  it('is not offered while it drains', async () => {
    const host = room.newHost();
    const worker = await room.connect(host);
    worker.say({ type: 'beat', data: { draining: true, free_slots: 3, tasks: [] } });
    await worker.next('beat');
    const runId = await room.create(host);
    worker.say({ type: 'beat', data: { draining: true, free_slots: 2, tasks: [] } });
    await worker.next('beat');
    expect(worker.kept).toEqual([]);
    worker.say({ type: 'beat', data: { draining: false, free_slots: 3, tasks: [] } });
    expect((await worker.next('task_assignment')).data.task_id).toBe(runId);
  });
});

describe('the skills in skills_dirs of a worker', () => {
  const skills = [
    {
      name: 'tidy-up',
      description: 'Tidies up.',
      repository: 'acme/tools',
      path: '.claude/skills/tidy/SKILL.md',
    },
  ];
  const variants = async (token: string, query = '') => {
    const { body } = await room.api.request(200, `GET /agent${query}`, { token });
    const agents = body.agents as { name: string; variants: { id: string; source: object }[] }[];
    return agents.find(({ name }) => name === 'tidy-up')?.variants ?? [];
  };

  it('are listed with the host while it is connected, for its team alone', async () => {
    const host = room.newHost();
    const { worker } = await room.greet(host, { instance_id: 'daemon-1', slots: 1, skills });
    await worker.handled();
    expect(await variants(room.bot.token)).toMatchObject([
      {
        id: 'acme/tools:.claude/skills/tidy/SKILL.md',
        description: 'Tidies up.',
        source: { owner: 'acme', name: 'tools', skill_path: '.claude/skills/tidy/SKILL.md', worker_host: host },
        environments: [],
      },
    ]);
    const other = await room.api.identities.serviceAccount(await room.api.identities.team());
    expect(await variants(other.token)).toEqual([]);
    await worker.vanish();
    await vi.waitFor(async () => expect(await variants(room.bot.token)).toEqual([]));
  });
});

describe('a cancel, where it is allowed', () => {
  it('is told to the worker, whose last word ends the execution', async () => {
    const host = room.newHost();
    const worker = await room.connect(host);
    const runId = await room.create(host);
    const offer = await worker.next('task_assignment');
    worker.claim(runId);
    await worker.handled();
    expect((await room.run(runId)).is_run_type_cancellable).toBe(true);
    await room.api.request(200, `POST /agent/runs/${runId}/cancel`, { token: room.bot.token });
    expect((await worker.next('task_cancellation')).data).toEqual({ task_id: runId });
    expect(await room.run(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: true });
    worker.say({
      type: 'beat',
      data: { draining: false, free_slots: 1, tasks: [{ task_id: runId, execution_id: offer.data.execution_id }] },
    });
    expect((await worker.next('beat')).data.tasks.map(({ desired }) => desired)).toEqual(['stop']);
    worker.complete(runId, { task_state: 'CANCELLED' });
    await worker.handled();
    expect(await room.run(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
  });

  it('of a run that waits needs no worker', async () => {
    const runId = await room.create(room.newHost());
    await room.api.request(200, `POST /agent/runs/${runId}/cancel`, { token: room.bot.token });
    expect((await room.run(runId)).state).toBe('CANCELLED');
  });
});

describe('two instances of the API', () => {
  let other: TestApi;

  beforeAll(async () => {
    other = await startTestApi({ database: room.api.database, settings: { selfHostedCancel: true } });
  });
  afterAll(() => other.close());

  it('offer to each other’s workers, once, and cancel there', async () => {
    const host = room.newHost();
    const here = await room.connect(host);
    const there = await WorkersRoom.beside(room, other).connect(host);
    const runs = await Promise.all(Array.from({ length: 6 }, () => room.create(host)));
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
    await room.api.request(200, `POST /agent/runs/${onThere}/cancel`, { token: room.bot.token });
    expect((await there.next('task_cancellation')).data.task_id).toBe(onThere);
    await Promise.all([here.vanish(), there.vanish()]);
  });

  it('a run created at one reaches the worker at the other', async () => {
    const host = room.newHost();
    const there = await WorkersRoom.beside(room, other).connect(host);
    const runId = await room.create(host);
    expect((await there.next('task_assignment')).data.task_id).toBe(runId);
    await there.vanish();
  });
});
