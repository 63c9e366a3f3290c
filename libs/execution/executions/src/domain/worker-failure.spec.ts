import { describe, expect, it } from 'vitest';
import { isCancelledOnWorker, isStoppedOnWorker, workerFailureCode } from './worker-failure.js';

describe('workerFailureCode', () => {
  it.each([
    ['one of our codes, however it is written', { failure_reason: 'Budget-Exceeded', exit_code: 1 }, 'budget_exceeded'],
    ['a set-up that failed', { failure_reason: 'setup_failed', exit_code: 1 }, 'environment_setup_failed'],
    ['an image that cannot be had', { failure_reason: 'IMAGE_PULL' }, 'environment_setup_failed'],
    [
      'what a published worker calls a set-up',
      { failure_reason: 'volume_mount', exit_code: 1 },
      'environment_setup_failed',
    ],
    ['what is neither set-up nor agent', { failure_reason: 'teardown_command', exit_code: 1 }, 'internal_error'],
    ['a limit of the operator', { failure_reason: 'task_timeout', exit_code: 137 }, 'internal_error'],
    ['an agent that took too much memory', { failure_reason: 'container_oom', exit_code: 137 }, 'agent_process_failed'],
    ['a pod that was evicted', { failure_reason: 'evicted', exit_code: 137 }, 'infrastructure_timeout'],
    ['a task that the infrastructure cancelled', { failure_reason: 'task_cancelled' }, 'infrastructure_timeout'],
    ['a worker that goes down', { failure_reason: 'worker shutdown', exit_code: 137 }, 'infrastructure_timeout'],
    ['an agent that ended', { failure_reason: 'agent exited' }, 'agent_process_failed'],
    ['an exit code alone', { exit_code: 137 }, 'agent_process_failed'],
    ['a runner that could not continue', { failure_reason: 'process exited', exit_code: 70 }, 'internal_error'],
    ['a runner without its lease', { failure_reason: 'process exited', exit_code: 75 }, 'infrastructure_timeout'],
    ['no exit code of a failure', { exit_code: 0 }, 'internal_error'],
    ['a word that nobody knows', { failure_reason: 'mystery' }, 'internal_error'],
    ['nothing', {}, 'internal_error'],
  ])('knows %s', (_what, failure, code) => {
    expect(workerFailureCode(failure)).toBe(code);
  });
});

describe('isCancelledOnWorker', () => {
  it.each([
    [{ task_state: 'CANCELLED' }, true],
    [{ task_state: 'FAILED' }, false],
    [{}, false],
  ])('%o: %s', (data, cancelled) => {
    expect(isCancelledOnWorker(data)).toBe(cancelled);
  });
});

describe('isStoppedOnWorker', () => {
  it.each([
    [{ task_state: 'CANCELLED' }, true],
    [{ failure_reason: 'task_cancelled' }, true],
    [{ failure_reason: 'container_exit', task_state: 'FAILED' }, false],
  ])('%o: %s', (data, stopped) => {
    expect(isStoppedOnWorker(data)).toBe(stopped);
  });
});
