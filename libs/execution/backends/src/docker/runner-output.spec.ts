import { beforeEach, describe, expect, it } from 'vitest';
import type { HostLog } from '#execution/runner';
import { RunnerOutput } from './runner-container.js';

describe('RunnerOutput', () => {
  const warned: object[] = [];
  const unheard = (): void => undefined;
  const log: HostLog = {
    debug: unheard,
    info: unheard,
    warn: (msg, fields) => void warned.push({ msg, ...fields }),
    error: unheard,
  };
  beforeEach(() => void (warned.length = 0));

  it('logs lines with the id of its execution, which they cannot override', () => {
    const output = new RunnerOutput('17', log);
    output.push(Buffer.from('{"level":"warn","msg":"a","execution_id":"9'));
    output.push(Buffer.from('9","x":1}\nplain\n'));
    expect(warned).toEqual([
      { msg: 'a', execution_id: '17', x: 1 },
      { msg: 'runner output', execution_id: '17', line: 'plain' },
    ]);
    expect(output.tail).toContain('plain');
  });

  it('limits the length of a line and of the whole output', () => {
    const output = new RunnerOutput('17', log);
    for (let part = 0; part < 100; part += 1) output.push(Buffer.alloc(100_000, 'x'));
    output.push(Buffer.from('\n'));
    expect((warned[0] as { line: string }).line.length).toBeLessThanOrEqual(16_384);
    for (let line = 0; line < 1000; line += 1) output.push(Buffer.from(`${'y'.repeat(16_000)}\n`));
    expect(warned.length).toBeLessThan(300);
    expect(warned.at(-1)).toMatchObject({ msg: 'no more of this runner’s output is logged' });
    expect(output.tail.length).toBeLessThanOrEqual(2000);
  });
});
