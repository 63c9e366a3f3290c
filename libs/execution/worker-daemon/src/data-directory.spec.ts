import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostLog } from '#execution/backends';
import { openDataDirectory, withDirectoryLock } from './data-directory.js';

const quiet: HostLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const NOBODY = 65_534;
const never = new AbortController().signal;

describe('the data directory of a worker', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-data-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('reports a directory that is not writable, not one in use', async () => {
    const gone = join(directory, 'gone');
    await expect(withDirectoryLock(gone, quiet, never, () => Promise.resolve())).rejects.toThrow(
      /cannot be used \(ENOENT\)/,
    );
  });

  it.runIf(process.getuid?.() === 0)('keeps the mode of a writable directory of another user', () => {
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

  it('reports a path that is not a directory', () => {
    expect(() => openDataDirectory('/dev/null/data')).toThrow(/data directory \/dev\/null\/data cannot be used/);
  });

  it('can be stopped while it waits for the lock of another daemon', async () => {
    const stopping = new AbortController();
    const first = withDirectoryLock(directory, quiet, never, async () => {
      const second = withDirectoryLock(directory, quiet, stopping.signal, () => Promise.resolve('worked'));
      stopping.abort();
      await expect(second).rejects.toThrow(/was stopped while it waited/);
      return 'worked';
    });
    expect(await first).toBe('worked');
    expect(readdirSync(directory)).toEqual([]);
  });
});
