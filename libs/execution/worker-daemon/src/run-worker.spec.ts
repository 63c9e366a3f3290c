import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readWorkerOptions } from './options/read-worker-options.js';
import { runWorker } from './run-worker.js';

describe('runWorker', () => {
  let directory: string;
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'headrace-run-worker-'))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it.each(['drain', 'stop'] as const)('ends after a %s that was requested before its start', async (what) => {
    const signals = { drain: new AbortController(), stop: new AbortController() };
    // Nobody listens there.
    const place = ['--server-root-url', 'http://127.0.0.1:9', '--data-dir', directory, '--workspace-root', directory];
    const code = await runWorker(readWorkerOptions(['--worker-id', 'a', ...place], { WARP_API_KEY: 'wk-key' }), {
      write: (line) => line.includes('worker starts') && signals[what].abort(),
      drain: signals.drain.signal,
      stop: signals.stop.signal,
    });
    expect(code).toBe(0);
  });
});
