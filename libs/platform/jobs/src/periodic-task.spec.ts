import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Logger } from '@nestjs/common';
import { PeriodicTask, type TaskRun } from './periodic-task.js';
import { missingTasks, type TaskDefinition } from './task-definition.js';

const DEFINITION: TaskDefinition = {
  name: 'count',
  library: 'spec',
  process: 'processor',
  scope: 'process',
  period: 1000,
  description: 'Counts.',
};
const flush = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function taskOf(run: TaskRun) {
  const results: string[] = [];
  const task = new PeriodicTask(DEFINITION, run, (name, result) => void results.push(`${name} ${result}`));
  return { task, results };
}

/** Counts its runs; each lasts until it is released. */
function held() {
  const releases: (() => void)[] = [];
  const run = vi.fn(() => new Promise<void>((resolve) => void releases.push(resolve)));
  return { run, release: () => releases.shift()?.() };
}

describe('a periodic task', () => {
  it('runs once per period, for the first time after a period', async () => {
    const run = vi.fn(() => Promise.resolve());
    const { task, results } = taskOf(run);
    task.start(1000);
    await flush();
    expect(run).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(3000);
    expect(run).toHaveBeenCalledTimes(3);
    expect(results).toEqual(Array.from({ length: 3 }, () => 'spec/count succeeded'));
    await task.stop();
  });

  it('skips the periods that pass during a run', async () => {
    const { run, release } = held();
    const { task } = taskOf(run);
    task.start(1000);
    await vi.advanceTimersByTimeAsync(3500);
    expect(run).toHaveBeenCalledTimes(1);
    release();
    await flush();
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('runs once more for all wake-ups during a run', async () => {
    const { run, release } = held();
    const { task } = taskOf(run);
    task.start(1000);
    for (let index = 0; index < 5; index += 1) task.wake();
    release();
    await flush();
    expect(run).toHaveBeenCalledTimes(2);
    release();
    await flush();
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('ignores wake-ups before the start and after the stop', async () => {
    const run = vi.fn(() => Promise.resolve());
    const { task } = taskOf(run);
    task.wake();
    task.start(1000);
    await task.stop();
    task.wake();
    await vi.advanceTimersByTimeAsync(5000);
    expect(run).not.toHaveBeenCalled();
  });

  it('runs again at once as long as there is more to do, and not after the stop', async () => {
    let left = 3;
    const run = vi.fn(() => Promise.resolve(--left > 0 ? ('again' as const) : undefined));
    const { task } = taskOf(run);
    task.start(1000);
    await task.wakeAndWait();
    expect(run).toHaveBeenCalledTimes(3);
    const endless = taskOf(() => delay(1).then(() => 'again' as const));
    endless.task.start(1000);
    endless.task.wake();
    const stopped = endless.task.stop();
    await vi.advanceTimersByTimeAsync(10);
    await stopped;
    expect(endless.results).toHaveLength(1);
  });

  it('waits for the run under way when it stops, and aborts the signal of the run', async () => {
    const { run, release } = held();
    const { task } = taskOf(run);
    task.start(1000);
    task.wake();
    let isStopped = false;
    const stopped = task.stop().then(() => (isStopped = true));
    await flush();
    expect([isStopped, task.signal.aborted]).toEqual([false, true]);
    release();
    await stopped;
  });

  it('passes the cause of a run', async () => {
    const causes: string[] = [];
    const { task } = taskOf((_signal, cause) => {
      causes.push(cause);
      return Promise.resolve();
    });
    task.start(1000);
    await task.wakeAndWait();
    await vi.advanceTimersByTimeAsync(1000);
    await task.wakeAndWait();
    expect(causes).toEqual(['wake-up', 'period', 'wake-up']);
    await task.stop();
  });

  it('logs a failed run and repeats it after the period', async () => {
    const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const { task, results } = taskOf(() => Promise.reject(new Error('broken')));
    task.start(1000);
    await vi.advanceTimersByTimeAsync(2000);
    expect(logged).toHaveBeenCalledTimes(2);
    expect(results).toEqual(['spec/count failed', 'spec/count failed']);
    await task.stop();
  });

  it('does not log a run that fails because the database is unavailable', async () => {
    const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const { task, results } = taskOf(() => Promise.reject(refused));
    task.start(1000);
    await task.wakeAndWait();
    expect(logged).not.toHaveBeenCalled();
    expect(results).toEqual(['spec/count failed']);
  });

  it('runs jobs of the cluster one after the other, and none after the stop', async () => {
    const { run, release } = held();
    const { task } = taskOf(run);
    const jobs = [task.runAsJob(), task.runAsJob()];
    await flush();
    expect(run).toHaveBeenCalledTimes(1);
    release();
    await flush();
    expect(run).toHaveBeenCalledTimes(2);
    release();
    await Promise.all(jobs);
    await task.stop();
    await task.runAsJob();
    expect(run).toHaveBeenCalledTimes(2);
  });
});

describe('declared tasks', () => {
  it('are missing when their process does not implement them, unless a condition applies', () => {
    const other: TaskDefinition = { ...DEFINITION, name: 'other' };
    const conditional: TaskDefinition = { ...DEFINITION, name: 'conditional', condition: '`EXECUTOR=docker`' };
    const ofApi: TaskDefinition = { ...DEFINITION, name: 'of-api', process: 'api' };
    const all = [DEFINITION, other, conditional, ofApi];
    expect(missingTasks('processor', all, new Set(['spec/count']))).toEqual(['spec/other']);
    expect(missingTasks('ingress', all, new Set())).toEqual([]);
  });
});
