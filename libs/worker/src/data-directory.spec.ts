import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostLog } from '#libs/runner-host';
import { alone, openDataDirectory } from './data-directory.js';

const quiet: HostLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const never = new AbortController().signal;

describe('the data directory of a worker', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-data-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('that cannot be written is not taken for one that somebody uses', async () => {
    const gone = join(directory, 'gone');
    await expect(alone(gone, quiet, never, () => Promise.resolve())).rejects.toThrow(/cannot be used \(ENOENT\)/);
  });

  it('is named when it is no directory', () => {
    expect(() => openDataDirectory('/dev/null/data')).toThrow(/data directory \/dev\/null\/data cannot be used/);
  });

  it('lets a daemon that waits for another be stopped', async () => {
    const stopping = new AbortController();
    const first = alone(directory, quiet, never, async () => {
      const second = alone(directory, quiet, stopping.signal, () => Promise.resolve('worked'));
      stopping.abort();
      await expect(second).rejects.toThrow(/was stopped while it waited/);
      return 'worked';
    });
    expect(await first).toBe('worked');
    expect(readdirSync(directory)).toEqual([]);
  });
});
