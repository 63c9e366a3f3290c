import { describe, expect, it } from 'vitest';
import { workerHostFault } from './worker-host.js';

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
