import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Backend,
  type BackendTask,
  type HostLog,
  type RunningTask,
  SetupFault,
  type TaskEnd,
} from '#execution/backends';
import type { TaskAssignmentData, WorkerFrame } from '#execution/worker-protocol';
import { SystemClock } from '#platform/kernel';
import { Journal } from './journal.js';
import { WorkerMetrics } from './metrics.js';
import { readWorkerOptions } from './options/read-worker-options.js';
import { Tasks } from './tasks.js';

const silent: HostLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const assignment = (executionId: string, taskId = `task-${executionId}`): TaskAssignmentData => ({
  task_id: taskId,
  execution_id: executionId,
  task: { id: taskId, title: '', task_definition: { prompt: '' }, created_at: '', updated_at: '' },
  env_vars: { HEADRACE_EXECUTION_TOKEN: 'token' },
});

/** A backend without processes that records the order of its calls. */
class BackendDouble implements Backend {
  readonly name = 'process';
  readonly claimDeadlines = 1;
  readonly isReady = true;
  readonly steps: string[] = [];
  readonly ends = new Map<string, (end: TaskEnd) => void>();
  readonly signals: string[] = [];
  refusal: Error | null = null;

  constructor(private readonly journalled: () => string[]) {}

  start({ executionId }: BackendTask): Promise<RunningTask> {
    if (this.refusal) return Promise.reject(this.refusal);
    this.steps.push(`start ${executionId}`);
    const ended = new Promise<TaskEnd>((resolve) => this.ends.set(executionId, resolve));
    return Promise.resolve({
      handle: { pid: 1 },
      begin: () => {
        this.steps.push(`begin ${executionId} with ${this.journalled().join()}`);
        return Promise.resolve();
      },
      signal: (signal) => void this.signals.push(`${signal} ${executionId}`),
      ended,
    });
  }

  prepare = (): Promise<void> => Promise.resolve();
  check = (): Promise<boolean> => Promise.resolve(false);
  reattach = (): Promise<null> => Promise.resolve(null);
  list = (): Promise<[]> => Promise.resolve([]);
  remove = (): Promise<void> => Promise.resolve();
}

describe('Tasks', () => {
  let dataDir: string;
  let sent: WorkerFrame[];
  let reaches: boolean;
  let backend: BackendDouble;
  let tasks: Tasks;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headrace-tasks-'));
    sent = [];
    reaches = true;
    backend = new BackendDouble(() => readdirSync(join(dataDir, 'journal')));
    tasks = new Tasks({
      options: readWorkerOptions(['--worker-id', 'a', '--max-concurrent-tasks', '1'], { HEADRACE_TOKEN: 'key' }),
      backend,
      marker: (executionId) => `marker-${executionId}`,
      journal: new Journal(dataDir, silent),
      metrics: new WorkerMetrics({ version: '0', backend: 'process', worker_id: 'a' }),
      clock: new SystemClock(),
      log: silent,
      send: (frame) => {
        if (reaches) sent.push(frame);
        return Promise.resolve(reaches);
      },
      changed: () => undefined,
    });
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  const types = (): string[] => sent.map(({ type }) => type);
  const end = async (
    executionId: string,
    value: TaskEnd = { kind: 'exited', code: 0, signal: null },
  ): Promise<void> => {
    backend.ends.get(executionId)?.(value);
    await new Promise(setImmediate);
  };

  it('claims, starts and journals a task before its runner begins', async () => {
    await tasks.assign(assignment('7'), null);
    expect(types()).toEqual(['task_claimed']);
    expect(backend.steps).toEqual(['start 7', 'begin 7 with 7.json']);
  });

  it('does not start a task whose claim was not sent', async () => {
    reaches = false;
    await tasks.assign(assignment('7'), null);
    expect(backend.steps).toEqual([]);
    expect(tasks.all).toEqual([]);
    expect(tasks.freeSlots).toBe(1);
  });

  it('rejects tasks while the journal cannot be written, and recreates a missing journal', async () => {
    const journal = join(dataDir, 'journal');
    await tasks.assign(assignment('7'), null);
    rmSync(journal, { recursive: true });
    await end('7');
    tasks.forget('7');
    expect(tasks.all).toEqual([]);
    writeFileSync(journal, '');
    await tasks.assign(assignment('8'), null);
    expect(sent.at(-1)).toMatchObject({ type: 'task_rejected', data: { task_id: 'task-8' } });
    expect(backend.steps).not.toContain('start 8');
    rmSync(journal);
    await tasks.assign(assignment('9'), null);
    expect(backend.steps.at(-1)).toBe('begin 9 with 9.json');
  });

  it('rejects a task with a reason: no slot, draining, no token, an earlier execution', async () => {
    await tasks.assign(assignment('7'), 'draining');
    await tasks.assign({ ...assignment('7'), env_vars: {} }, null);
    await tasks.assign(assignment('7', 'one'), null);
    await tasks.assign(assignment('8', 'two'), null);
    await tasks.assign(assignment('9', 'one'), null);
    expect(types()).toEqual(['task_rejected', 'task_rejected', 'task_claimed', 'task_rejected', 'task_rejected']);
    expect(sent[3]).toMatchObject({ data: { task_id: 'two', reason: 'at capacity' } });
    // The server has given the earlier execution up.
    expect(backend.signals).toEqual(['SIGKILL 7']);
  });

  it('ignores a repeated assignment', async () => {
    await tasks.assign(assignment('7'), null);
    await tasks.assign(assignment('7'), null);
    expect(backend.steps).toHaveLength(2);
  });

  it('keeps an end in the journal until the server confirms it, over several connections', async () => {
    await tasks.assign(assignment('7'), null);
    await end('7');
    let mark = 0;
    const next = (): number => (mark += 1);
    reaches = false;
    await tasks.reportEnds(next);
    expect(tasks.unacknowledged).toBe(1);
    reaches = true;
    await tasks.reportEnds(next);
    tasks.markUnconfirmed();
    await tasks.reportEnds(next);
    expect(types()).toEqual(['task_claimed', 'task_completed', 'task_completed']);
    expect(readdirSync(join(dataDir, 'journal'))).toEqual(['7.json']);
    tasks.confirmed(mark);
    expect(readdirSync(join(dataDir, 'journal'))).toEqual([]);
    expect(tasks.all).toEqual([]);
  });

  it.each([
    [
      { kind: 'exited', code: null, signal: 'SIGKILL' },
      { failure_reason: 'infrastructure_timeout', exit_code: 137 },
    ],
    [
      { kind: 'exited', code: 70, signal: null },
      { failure_reason: 'internal_error', exit_code: 70 },
    ],
    [
      { kind: 'exited', code: 75, signal: null },
      { failure_reason: 'infrastructure_timeout', exit_code: 75 },
    ],
    [
      { kind: 'vanished', reason: 'runner_vanished', message: 'gone' },
      { failure_reason: 'infrastructure_timeout', message: 'gone' },
    ],
  ] as const)('reports the end of a runner: %j', async (how, reported) => {
    await tasks.assign(assignment('7'), null);
    await end('7', how);
    await tasks.reportEnds(() => 1);
    expect(sent[1]).toMatchObject({ type: 'task_failed', data: { task_id: 'task-7', ...reported } });
  });

  it('reports a missing requirement as a failed set-up', async () => {
    backend.refusal = new SetupFault('No such image.');
    await tasks.assign(assignment('7'), null);
    await tasks.reportEnds(() => 1);
    expect(sent[1]).toMatchObject({ data: { failure_reason: 'environment_setup_failed', message: 'No such image.' } });
  });

  it('reports a cancelled task as cancelled although the worker was stopped meanwhile', async () => {
    await tasks.assign(assignment('7'), null);
    tasks.requestStop({ taskId: 'task-7' }, 'stop');
    const [task] = tasks.live;
    task?.requestStop('drain');
    task?.requestStop('drain');
    expect(backend.signals).toEqual(['SIGTERM 7']);
    await end('7', { kind: 'exited', code: null, signal: 'SIGKILL' });
    await tasks.reportEnds(() => 1);
    expect(sent[1]).toMatchObject({ type: 'task_completed', data: { task_state: 'CANCELLED' } });
  });

  it.each([
    [['drain', 'stop', 'kill', 'lost'], 'lost', ['SIGTERM 7', 'SIGKILL 7', 'SIGKILL 7']],
    [['kill', 'stop', 'drain'], 'kill', ['SIGKILL 7']],
    [['lost', 'kill', 'stop'], 'lost', ['SIGKILL 7', 'SIGKILL 7']],
    [['stop', 'drain'], 'stop', ['SIGTERM 7']],
  ] as const)('keeps the strongest of the stop modes %j', async (wishes, stands, signals) => {
    await tasks.assign(assignment('7'), null);
    const [task] = tasks.live;
    for (const stopMode of wishes) task?.requestStop(stopMode);
    expect(task?.stopMode).toBe(stands);
    expect(backend.signals).toEqual(signals);
    await end('7');
  });

  it('reports nothing about an execution that no longer belongs to the worker', async () => {
    await tasks.assign(assignment('7'), null);
    tasks.forget('7');
    expect(backend.signals).toEqual(['SIGKILL 7']);
    await end('7', { kind: 'exited', code: null, signal: 'SIGKILL' });
    await tasks.reportEnds(() => 1);
    expect(types()).toEqual(['task_claimed']);
    expect(readdirSync(join(dataDir, 'journal'))).toEqual([]);
  });
});
