import { SchedulerRegistry } from '@nestjs/schedule';
import type { Queue, QueueOptions } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Settings } from '#platform/config';
import { Metrics } from '#platform/observability';
import { BackgroundTasks } from './background-tasks.js';
import { defineTask, type ServerProcess, type TaskDefinition } from './task-definition.js';
import { WakeUp } from './wake-up.js';

const definitionOf = (name: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  name,
  library: 'spec',
  process: 'ingress',
  scope: 'process',
  period: 1000,
  description: 'For a test.',
  ...more,
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('background tasks', () => {
  const open = (process: ServerProcess | null = null) => {
    const metrics = new Metrics();
    const settings = { placementPoll: 500 } as unknown as Settings;
    return {
      metrics,
      tasks: new BackgroundTasks(process, {} as QueueOptions, settings, new SchedulerRegistry(), metrics),
    };
  };

  it('rejects a second declaration of a name, and one without the queue that it needs', () => {
    defineTask(definitionOf('declared-twice'));
    expect(() => defineTask(definitionOf('declared-twice'))).toThrow(/spec\/declared-twice is declared twice/);
    expect(() => defineTask(definitionOf('no-queue', { scope: 'cluster' }))).toThrow(/declare its queue/);
  });

  it('rejects a second implementation of a task', () => {
    const { tasks } = open();
    const definition = definitionOf('implemented-twice');
    tasks.implement(definition, () => Promise.resolve());
    expect(() => tasks.implement(definition, () => Promise.resolve())).toThrow(/two implementations/);
  });

  it('do not let a process start without the implementation of a task that is declared for it', async () => {
    defineTask(definitionOf('not-implemented'));
    await expect(open('ingress').tasks.onApplicationBootstrap()).rejects.toThrow(
      /Declared tasks have no implementation: .*spec\/not-implemented/,
    );
  });

  it('run with the period of the settings from the start of the application, and are measured', async () => {
    const { metrics, tasks } = open();
    const run = vi.fn(() => Promise.resolve());
    tasks.implement(
      definitionOf('measured', { period: { text: 'PLACEMENT_POLL', of: ({ placementPoll }) => placementPoll } }),
      run,
    );
    const later = vi.fn(() => Promise.resolve());
    tasks.implement(definitionOf('later'), later, { startsBy: 'owner' });
    await tasks.onApplicationBootstrap();
    await vi.advanceTimersByTimeAsync(2000);
    expect(run).toHaveBeenCalledTimes(4);
    expect(later).not.toHaveBeenCalled();
    await tasks.onModuleDestroy();
    await vi.advanceTimersByTimeAsync(2000);
    expect(run).toHaveBeenCalledTimes(4);
    expect(await metrics.render()).toContain(
      'headrace_background_task_runs_total{task="spec/measured",result="succeeded"} 4',
    );
  });
});

describe('a wake-up', () => {
  function open() {
    const releases: (() => void)[] = [];
    const add = vi.fn(() => new Promise<void>((resolve) => void releases.push(resolve)));
    return { add, release: () => releases.shift()?.(), wakeUp: new WakeUp({ add } as unknown as Queue, 'job', 50) };
  }

  it('adds a job at once, and one more for all that are sent within the coalescing time after it', async () => {
    const { add, release, wakeUp } = open();
    wakeUp.send();
    await vi.advanceTimersByTimeAsync(0);
    expect(add).toHaveBeenCalledTimes(1);
    release();
    await vi.advanceTimersByTimeAsync(0);
    for (let index = 0; index < 10; index += 1) wakeUp.send();
    await vi.advanceTimersByTimeAsync(49);
    expect(add).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(add).toHaveBeenCalledTimes(2);
  });

  it('adds one more job for all that are sent while a job is being added', async () => {
    const { add, release, wakeUp } = open();
    wakeUp.send();
    await vi.advanceTimersByTimeAsync(50);
    wakeUp.send();
    wakeUp.send();
    await vi.advanceTimersByTimeAsync(500);
    expect(add).toHaveBeenCalledTimes(1);
    release();
    await vi.advanceTimersByTimeAsync(50);
    expect(add).toHaveBeenCalledTimes(2);
  });

  it('is dropped when the process stops before the job is added', async () => {
    const { add, wakeUp } = open();
    wakeUp.send();
    await wakeUp.close();
    wakeUp.send();
    await vi.advanceTimersByTimeAsync(500);
    expect(add).not.toHaveBeenCalled();
  });
});
