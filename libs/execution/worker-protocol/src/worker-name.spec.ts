import { describe, expect, it } from 'vitest';
import { MAX_WORKER_NAME_LENGTH, workerHostFault, workerNameFault } from './worker-name.js';

describe('the name of a worker', () => {
  it.each(['build-1', 'büro 3', '机器', 'a/b:c', 'x'.repeat(MAX_WORKER_NAME_LENGTH), 'my-warp'])(
    'may be %s',
    (name) => {
      expect(workerNameFault(name)).toBeNull();
    },
  );

  it.each([undefined, null, '', '   '])('is missing: %j', (name) => {
    expect(workerNameFault(name)).toEqual({ kind: 'missing' });
  });

  it.each(['warp', 'warp-1', 'WARP', 'Warped'])('is reserved: %s', (name) => {
    expect(workerNameFault(name)).toEqual({ kind: 'reserved' });
  });

  it.each(['a\nb', ' a', 'a ', 'a\u0000', 'a\u202eb', 'a\ud800', 'a\ufffdb', 'x'.repeat(MAX_WORKER_NAME_LENGTH + 1)])(
    'is unfit: %j',
    (name) => {
      expect(workerNameFault(name)).toMatchObject({ kind: 'unfit' });
    },
  );
});

describe('worker_host', () => {
  it.each(['warp', 'build-1', 'büro 3', 'my-warp', 'x'.repeat(256)])('may be %s', (host) => {
    expect(workerHostFault(host)).toBeNull();
  });

  it.each(['WARP', 'Warp', 'warp-1', 'WarpDrive', 'warp '])('is reserved: %j', (host) => {
    expect(workerHostFault(host)).toMatch(/exactly `warp`/);
  });

  it.each([
    ['', /blank/],
    ['  ', /blank/],
    [' build-1', /space/],
    ['build\u200b1', /invisible/],
    ['x'.repeat(257), /must not exceed 256/],
  ])('names nobody: %j', (host, says) => {
    expect(workerHostFault(host)).toMatch(says);
  });
});
