import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockHeldError, PidLock } from './pid-lock.js';
import { processStart } from './process-identity.js';

let directory = '';
let path = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-lock-'));
  path = join(directory, 'lock');
});
afterEach(() => rmSync(directory, { recursive: true }));

async function deadProcess(): Promise<{ pid: number; started: string }> {
  const child = spawn(process.execPath, ['-e', '']);
  const [pid, started] = [child.pid ?? 0, processStart(child.pid ?? 0) ?? 'gone'];
  await once(child, 'exit');
  return { pid, started };
}

describe('a lock', () => {
  it('has one holder at a time, and the next one after its release', async () => {
    let [inside, most] = [0, 0];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const lock = await PidLock.acquire(path, 10_000);
        inside += 1;
        most = Math.max(most, inside);
        await Promise.resolve();
        inside -= 1;
        lock.release();
      }),
    );
    expect(most).toBe(1);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('of a living process is rejected with the number of the process', async () => {
    await PidLock.acquire(path, 0);
    const refusal = PidLock.acquire(path, 30);
    await expect(refusal).rejects.toBeInstanceOf(LockHeldError);
    await expect(refusal).rejects.toMatchObject({ pid: process.pid, path });
  });

  it('of a dead process is taken over', async () => {
    writeFileSync(path, JSON.stringify(await deadProcess()));
    await PidLock.acquire(path, 0);
  });

  it('of a process whose number belongs to another process is taken over', async () => {
    writeFileSync(path, JSON.stringify({ pid: process.pid, started: 'long ago' }));
    await PidLock.acquire(path, 0);
  });

  it('with an empty file is taken over after a timeout', async () => {
    writeFileSync(path, '');
    await expect(PidLock.acquire(path, 30)).rejects.toBeInstanceOf(LockHeldError);
    utimesSync(path, new Date(0), new Date(0));
    const lock = await PidLock.acquire(path, 0);
    lock.release();
    expect(existsSync(path)).toBe(false);
  });

  it('of a dead process is taken over by one of many processes', async () => {
    writeFileSync(path, JSON.stringify(await deadProcess()));
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => PidLock.acquire(path, 100)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('the start of a process', () => {
  it('is constant while the process lives, and null afterwards', async () => {
    expect(processStart(process.pid)).toBe(processStart(process.pid));
    expect(processStart((await deadProcess()).pid)).toBeNull();
    expect(processStart(0)).toBeNull();
  });

  it.runIf(process.platform === 'linux')('is null for a zombie, which still answers signal 0', async () => {
    // The shell becomes a program that does not wait for its child, which ends when it sees that.
    const child = 'until grep -q sleep /proc/$PPID/comm; do :; done';
    const parent = spawn('sh', ['-c', `sh -c '${child}' & echo $!; exec sleep 30`]);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = Number(line.toString().trim());
    await expect.poll(() => processStart(zombie)).toBeNull();
    expect(process.kill(zombie, 0)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });
});
