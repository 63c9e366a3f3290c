import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Backend,
  type BackendTask,
  type FoundTask,
  type HostLog,
  type RunningTask,
  SetupFault,
  type TaskEnd,
} from '#execution/backends';
import type { WorkerTask } from './worker-task.js';
import { Worker, type WorkerTransport } from './worker.js';

const ignore = (): void => undefined;
const silent: HostLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const offer = { runId: 'run', executionId: '7' };
const backendTask: BackendTask = {
  executionId: '7',
  image: () => Promise.resolve(null),
  handover: () => {
    throw new Error('The backend of these tests starts no runner.');
  },
};
const turn = (): Promise<void> => new Promise(setImmediate);

let calls: string[];
let found: FoundTask[];
/** Resolves the start of the runner, or rejects it. */
let starts: { resolve: () => void; reject: (error: Error) => void };
let exit: (end: TaskEnd) => void;
let isClaimed: boolean;
let beginError: Error | null;
let journalError: Error | null;
let reattachError: Error | null;
let worker: Worker;

const running = (): RunningTask => ({
  handle: { pid: 1 },
  begin: () => {
    calls.push('begin');
    return beginError === null ? Promise.resolve() : Promise.reject(beginError);
  },
  signal: (signal) => {
    calls.push(signal);
    if (signal === 'SIGKILL') exit({ kind: 'exited', code: null, signal });
  },
  ended: new Promise((resolve) => (exit = resolve)),
});
const backend: Backend = {
  name: 'double',
  claimDeadlines: 1,
  isReady: true,
  prepare: () => Promise.resolve(),
  check: () => Promise.resolve(false),
  start: () =>
    new Promise((resolve, reject) => {
      calls.push('start');
      starts = { resolve: () => resolve(running()), reject };
    }),
  reattach: () => {
    if (reattachError !== null) throw reattachError;
    return Promise.resolve(null);
  },
  list: () => Promise.resolve(found),
  remove: (executionId) => {
    calls.push(`remove ${executionId}`);
    return Promise.resolve();
  },
};
const transport: WorkerTransport = {
  claim: () => {
    calls.push('claim');
    return Promise.resolve(isClaimed);
  },
  started: () => {
    calls.push('started');
    if (journalError) throw journalError;
  },
  ended: (_task: WorkerTask, end) => void calls.push(`ended ${end.kind === 'vanished' ? end.reason : end.kind}`),
};

beforeEach(() => {
  [calls, found, isClaimed, beginError, journalError, reattachError] = [[], [], true, null, null, null];
  worker = new Worker(backend, transport, silent);
});

/** Offers an execution and completes its start. */
async function begin(): Promise<void> {
  const begun = worker.execute(offer, backendTask);
  await turn();
  starts.resolve();
  await begun;
}

describe('Worker', () => {
  it('claims, starts, stores and begins an execution in this order, and reports its end', async () => {
    await begin();
    expect(calls).toEqual(['claim', 'start', 'started', 'begin']);
    expect(worker.live).toHaveLength(1);
    exit({ kind: 'exited', code: 0, signal: null });
    await turn();
    expect(calls.at(-1)).toBe('ended exited');
    expect(worker.find('7')).toBeUndefined();
  });

  it('starts nothing when its claim could not be reported', async () => {
    isClaimed = false;
    await worker.execute(offer, backendTask);
    expect(calls).toEqual(['claim']);
    expect(worker.find('7')).toBeUndefined();
  });

  it('reports a start that failed', async () => {
    const begun = worker.execute(offer, backendTask);
    await turn();
    starts.reject(new SetupFault('No such image.'));
    await begun;
    expect(calls).toEqual(['claim', 'start', 'ended setup_failed']);
  });

  it('kills a runner whose start was stopped while it completed, before its execution begins', async () => {
    const begun = worker.execute(offer, backendTask);
    await turn();
    worker.find('7')?.requestStop('stop');
    starts.resolve();
    await begun;
    expect(calls).toEqual(['claim', 'start', 'SIGKILL', 'ended runner_stopped']);
  });

  it('kills a runner whose handle could not be stored, and reports it once', async () => {
    journalError = new Error('The disk is full.');
    await begin();
    expect(calls).toEqual(['claim', 'start', 'started', 'SIGKILL', 'ended runner_not_started']);
  });

  it('kills a runner that could not begin, and reports its end once', async () => {
    beginError = new Error('The pipe is closed.');
    await begin();
    await turn();
    expect(calls).toEqual(['claim', 'start', 'started', 'begin', 'SIGKILL', 'ended exited']);
  });

  it('removes and reports an execution of an earlier process whose runner no longer exists', async () => {
    await worker.reattach(offer, { pid: 1 });
    expect(calls).toEqual(['remove 7', 'ended runner_vanished']);
  });

  it('neither removes nor reports an execution when it is not known whether its runner exists', async () => {
    reattachError = new Error('The engine does not respond.');
    await worker.reattach(offer, { pid: 1 });
    expect(calls).toEqual([]);
    found = [{ executionId: '7', handle: {}, state: 'running' }];
    expect(await worker.unsupervised()).toHaveLength(1);
    await worker.drain({ working: () => Promise.resolve(new Set()), graceMs: 0, patienceMs: 0 });
  });

  it('lists what exists of executions that it does not execute', async () => {
    await begin();
    found = ['7', '8'].map((executionId) => ({ executionId, handle: {}, state: 'running' }));
    expect((await worker.unsupervised()).map(({ executionId }) => executionId)).toEqual(['8']);
  });

  it('waits for agents at work when it drains, and kills runners that ignore SIGTERM', async () => {
    await begin();
    let isWorking = true;
    const working = (ids: readonly string[]) => Promise.resolve(new Set(isWorking ? ids : []));
    const drained = worker.drain({ working, graceMs: 60_000, patienceMs: 0 });
    await turn();
    expect(calls).not.toContain('SIGTERM');
    isWorking = false;
    await drained;
    expect(calls.slice(-3)).toEqual(['SIGTERM', 'SIGKILL', 'ended exited']);
  });

  it('requests runners to retire before SIGTERM when it drains, since an agent may have begun to work', async () => {
    await begin();
    // As if the agent began after the first look.
    const looks = [false, true];
    const working = (ids: readonly string[]) => Promise.resolve(new Set((looks.shift() ?? true) ? ids : []));
    const drained = worker.drain({ working, graceMs: 60_000, patienceMs: 0 });
    await expect.poll(() => looks.length, { timeout: 10_000 }).toBe(0);
    expect(calls.slice(4)).toEqual(['SIGWINCH']);
    exit({ kind: 'exited', code: 0, signal: null });
    await drained;
    expect(calls.slice(4)).toEqual(['SIGWINCH', 'ended exited']);
  });

  it('sends SIGTERM at once when there is no time to drain', async () => {
    await begin();
    await worker.drain({ working: () => Promise.resolve(new Set()), graceMs: 0, patienceMs: 0 });
    expect(calls.slice(-3)).toEqual(['SIGTERM', 'SIGKILL', 'ended exited']);
  });
});
