import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { childEnvironment, findCommand } from './child-environment.js';
import { isAlive, processStart } from '#platform/kernel';
import { killTree, sweep } from './sweep.js';
import { exitCodeOf, ManagedProcess } from './managed-process.js';
import { hasMarker } from './sweep.js';
import { TailBuffer } from './managed-process.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-processes-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const start = (script: string, env: Record<string, string>) =>
  ManagedProcess.start({
    command: 'bash',
    args: ['-c', script],
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: 'ignore',
  });
/** The script's first line: it says when its children are there. */
const firstLine = (child: ManagedProcess) =>
  new Promise<string>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())));

it('kills children in other sessions by their execution marker, and no other processes', async () => {
  const marker = `spec-${process.pid}-${Date.now()}`;
  const stranger = await start('echo up; sleep 60', { HEADRACE_EXECUTION_MARKER: `${marker}x` });
  // The grandchild writes its process id itself: until its exec is over, its environment cannot be read.
  const ours = await start(`setsid sh -c 'echo $$; sleep 60; true' & wait`, { HEADRACE_EXECUTION_MARKER: marker });
  const grandchild = Number(await firstLine(ours));
  await firstLine(stranger);
  expect(hasMarker(grandchild, marker)).toBe(true);
  expect(hasMarker(grandchild, marker.slice(0, -1))).toBe(false);
  expect(await sweep({ marker })).toMatchObject({ left: 0 });
  expect(isAlive(grandchild)).toBe(false);
  expect(exitCodeOf(await ours.exited)).toBe(137);
  expect(stranger.hasExited).toBe(false);
  expect(killTree(stranger.pid)).toBe(true);
  await stranger.exited;
  expect(killTree(stranger.pid)).toBe(false);
});

it('does not examine processes that are older than the runner', async () => {
  const marker = `since-${process.pid}-${Date.now()}`;
  const older = await start('echo up; sleep 60', { HEADRACE_EXECUTION_MARKER: marker });
  await firstLine(older);
  const since = processStart(older.pid);
  expect(await sweep({ marker, since: String(Number(since) + 1) })).toEqual({ killed: 0, left: 0 });
  expect(older.hasExited).toBe(false);
  expect(await sweep({ marker, since })).toEqual({ killed: 1, left: 0 });
  await older.exited;
});

it('kills a process while exec replaces its program', async () => {
  for (let time = 0; time < 25; time += 1) {
    const marker = `exec-${process.pid}-${Date.now()}-${time}`;
    const child = await start('echo up; exec sleep 60', { HEADRACE_EXECUTION_MARKER: marker });
    await firstLine(child);
    expect(await sweep({ marker })).toEqual({ killed: 1, left: 0 });
    await child.exited;
  }
});

it('rejects a sweep of root and of the current user', async () => {
  await expect(sweep({ uid: 0 })).rejects.toThrow(RangeError);
  await expect(sweep({ uid: process.getuid?.() ?? 0 })).rejects.toThrow(RangeError);
});

it('finds no processes without sweep targets', async () => {
  expect(await sweep({ groups: [], marker: 'nobody-carries-this', directory })).toEqual({ killed: 0, left: 0 });
});

it('rejects a command that does not exist with ENOENT', async () => {
  await expect(
    ManagedProcess.start({ command: '/no/such', args: [], cwd: tmpdir(), env: {}, stdin: 'ignore' }),
  ).rejects.toMatchObject({ code: 'ENOENT' });
  expect(findCommand('no-such-command', '/usr/bin:/bin')).toBeNull();
  expect(findCommand('sh', '/usr/bin:/bin')).toMatch(/\/sh$/);
});

it('builds the environment of a child from scratch, within its workspace', () => {
  process.env['SPEC_SECRET'] = 'inherited';
  const env = childEnvironment({
    workspace: {
      home: '/w/home',
      tmp: '/w/tmp',
      artifacts: '/w/tmp/artifacts',
      attachments: '/w/tmp/attachments',
      runAs: { uid: 4711, gid: 4711 },
    },
    marker: 'c',
    runId: 'r',
    layers: [
      { A: '1', PATH: '/harness' },
      { A: '2', HOME: '/root', HEADRACE_TOKEN: 'x', 'B=C': 'x', D: 'nul\0' },
    ],
  });
  delete process.env['SPEC_SECRET'];
  expect(env).toMatchObject({
    A: '2',
    PATH: '/harness',
    HOME: '/w/home',
    TMPDIR: '/w/tmp',
    TERM: 'dumb',
    USER: 'agent',
    GIT_TERMINAL_PROMPT: '0',
    HEADRACE_EXECUTION_MARKER: 'c',
    HEADRACE_RUN_ID: 'r',
    HEADRACE_ARTIFACTS_DIR: '/w/tmp/artifacts',
    HEADRACE_ATTACHMENTS_DIR: '/w/tmp/attachments',
  });
  expect(Object.keys(env).sort()).toEqual([
    'A',
    'GIT_TERMINAL_PROMPT',
    'HEADRACE_ARTIFACTS_DIR',
    'HEADRACE_ATTACHMENTS_DIR',
    'HEADRACE_EXECUTION_MARKER',
    'HEADRACE_RUN_ID',
    'HOME',
    'LANG',
    'LOGNAME',
    'PATH',
    'SHELL',
    'TERM',
    'TMPDIR',
    'USER',
  ]);
});

it('keeps the last bytes of an output without splitting a character', () => {
  const tail = new TailBuffer(5);
  for (const part of ['abc', 'dä', 'öx']) tail.append(Buffer.from(part));
  expect(tail.toString()).toBe('äöx');
  tail.append(Buffer.from('y'));
  expect(tail.toString()).toBe('öxy');
  expect(tail.truncated).toBe(true);
  const whole = new TailBuffer(5);
  whole.append(Buffer.from('hello'));
  expect([whole.toString(), whole.truncated]).toEqual(['hello', false]);
});
