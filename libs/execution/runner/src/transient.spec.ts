import { describe, expect, it } from 'vitest';
import { NoResponseError, RejectedError } from './protocol/control-plane.js';
import { retryTransient } from './transient.js';
import { WorkspacesMissingError } from './workspace/workspace.js';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

/** An attempt that fails with these errors, one after the other, and then succeeds. */
function failing(...errors: readonly Error[]): { attempts: number; attempt: () => Promise<string> } {
  const left = [...errors];
  const counted = {
    attempts: 0,
    attempt: () => {
      counted.attempts += 1;
      const error = left.shift();
      return error === undefined ? Promise.resolve('done') : Promise.reject(error);
    },
  };
  return counted;
}

describe('retryTransient', () => {
  it('repeats an attempt without a response and on a full disk', async () => {
    const counted = failing(new NoResponseError('answered 503'), full);
    await expect(retryTransient(counted.attempt, { signal: new AbortController().signal, log })).resolves.toBe('done');
    expect(counted.attempts).toBe(3);
  });

  it('repeats an attempt while the directory of the workspaces is missing', async () => {
    const counted = failing(new WorkspacesMissingError('/workspaces is a link'));
    await expect(retryTransient(counted.attempt, { signal: new AbortController().signal, log })).resolves.toBe('done');
  });

  it('does not repeat a rejected attempt', async () => {
    const counted = failing(new RejectedError('answered 400'));
    await expect(retryTransient(counted.attempt, { signal: new AbortController().signal, log })).rejects.toThrow(
      'answered 400',
    );
    expect(counted.attempts).toBe(1);
  });

  it('stops when the end of the execution has been decided', async () => {
    const counted = failing(full, full);
    await expect(retryTransient(counted.attempt, { signal: AbortSignal.abort(), log })).rejects.toBe(full);
    expect(counted.attempts).toBe(1);
  });
});
