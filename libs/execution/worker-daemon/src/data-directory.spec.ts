import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostLog } from '#execution/runner-host';
import { alone, openDataDirectory } from './data-directory.js';

const quiet: HostLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const NOBODY = 65_534;
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

  it.runIf(process.getuid?.() === 0)('of another user is used as it is when it can be written', () => {
    // A volume of a Kubernetes pod: root's, open to the group of the pod.
    chmodSync(directory, 0o2777);
    process.seteuid?.(NOBODY);
    try {
      expect(openDataDirectory(directory)).toBe(realpathSync(directory));
      writeFileSync(join(directory, 'written'), '');
    } finally {
      process.seteuid?.(0);
    }
    expect(statSync(directory).mode & 0o7777).toBe(0o2777);
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
