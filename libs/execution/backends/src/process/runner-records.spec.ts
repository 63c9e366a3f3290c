import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from '#platform/kernel';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunnerRecords } from './runner-records.js';

const EXECUTION = '7';
const STARTED_AT = 1_750_000_000_000;

async function endedProcess() {
  const child = spawn(process.execPath, ['-e', ''], { stdio: ['pipe', 'ignore', 'ignore'] });
  const identity = identify(child.pid ?? 0);
  await once(child, 'exit');
  if (identity === null) throw new Error('The process has no identity.');
  return identity;
}

describe('the record of a runner', () => {
  let directory: string;
  let records: RunnerRecords;
  const warn = vi.fn();
  const self = identify(process.pid);
  if (self === null) throw new Error('This process has no identity.');
  const runner = { ...self, started_at: STARTED_AT, uid: 920_000_001 };
  const fileOf = (name: string): string => join(directory, `${name}.runner.json`);
  const change = (change: object): void => {
    const record = JSON.parse(readFileSync(fileOf(EXECUTION), 'utf8')) as object;
    writeFileSync(fileOf(EXECUTION), JSON.stringify({ ...record, ...change }));
  };

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-records-'));
    records = new RunnerRecords(directory, { warn });
    warn.mockClear();
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('says that a runner is supervised while the process that supervises it exists', () => {
    records.write(EXECUTION, runner);
    expect(records.executions()).toEqual([EXECUTION]);
    expect(records.find(EXECUTION)).toEqual({ state: 'running', handle: {} });
  });

  it('says that a runner is orphaned when that process has ended, until another one supervises it', async () => {
    records.write(EXECUTION, runner);
    change({ supervisor: await endedProcess() });
    expect(records.find(EXECUTION)).toEqual({ state: 'orphaned', handle: runner });
    records.supervise(EXECUTION);
    expect(records.find(EXECUTION)).toEqual({ state: 'running', handle: {} });
  });

  it('is not used for the processes of another machine or container', async () => {
    records.write(EXECUTION, runner);
    change({ supervisor: await endedProcess(), namespace: 'another boot pid:[1]' });
    expect(records.find(EXECUTION)).toEqual({ state: 'unknown', handle: {} });
  });

  it.each(['', '{', 'null', '{"namespace":"x","runner":{"pid":1}}'])('is unknown when its file has %j', (content) => {
    writeFileSync(fileOf(EXECUTION), content);
    expect(records.find(EXECUTION)).toEqual({ state: 'unknown', handle: {} });
    records.supervise(EXECUTION);
    expect(readFileSync(fileOf(EXECUTION), 'utf8')).toBe(content);
  });

  it('is none when the name of the file is not the id of an execution', () => {
    for (const name of ['x', '9223372036854775808', '12345678901234567890']) writeFileSync(fileOf(name), '{}');
    writeFileSync(fileOf('9223372036854775807'), '{}');
    expect(records.executions()).toEqual(['9223372036854775807']);
  });

  it('does not prevent an execution when it cannot be written', () => {
    mkdirSync(`${fileOf(EXECUTION)}.new`);
    records.write(EXECUTION, runner);
    expect(warn).toHaveBeenCalledOnce();
    expect(records.find(EXECUTION)).toEqual({ state: 'unknown', handle: {} });
  });

  it('is removed, also when it is a directory', () => {
    records.write(EXECUTION, runner);
    records.remove(EXECUTION);
    mkdirSync(fileOf('8'));
    records.remove('8');
    records.remove('9');
    expect(records.executions()).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
  });
});
