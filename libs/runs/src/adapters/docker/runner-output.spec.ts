import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunnerOutput } from './runner-output.js';

describe('RunnerOutput', () => {
  const warned: unknown[] = [];
  beforeEach(() => {
    warned.length = 0;
    vi.spyOn(Logger.prototype, 'warn').mockImplementation((entry: unknown) => void warned.push(entry));
  });
  afterEach(() => vi.restoreAllMocks());

  it('logs lines of its execution, whatever they claim', () => {
    const output = new RunnerOutput('17');
    output.push(Buffer.from('{"level":"warn","msg":"a","execution_id":"9'));
    output.push(Buffer.from('9","x":1}\nplain\n'));
    expect(warned).toEqual([
      { msg: 'a', execution_id: '17', x: 1 },
      { msg: 'runner output', execution_id: '17', line: 'plain' },
    ]);
    expect(output.tail).toContain('plain');
  });

  it('keeps neither an endless line nor endless lines', () => {
    const output = new RunnerOutput('17');
    for (let part = 0; part < 100; part += 1) output.push(Buffer.alloc(100_000, 'x'));
    output.push(Buffer.from('\n'));
    expect((warned[0] as { line: string }).line.length).toBeLessThanOrEqual(16_384);
    for (let line = 0; line < 1000; line += 1) output.push(Buffer.from(`${'y'.repeat(16_000)}\n`));
    expect(warned.length).toBeLessThan(300);
    expect(warned.at(-1)).toMatchObject({ msg: 'no more of this runner’s output is logged' });
    expect(output.tail.length).toBeLessThanOrEqual(2000);
  });
});
