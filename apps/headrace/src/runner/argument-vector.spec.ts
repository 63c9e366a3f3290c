import { describe, expect, it } from 'vitest';
import { endsWithItsTurn, readArgumentVector } from './argument-vector.js';

const TASK = '01900000-0000-7000-8000-000000000001';
const URL = 'http://headrace.example.com:3000';

describe('the argument vector of worker daemons', () => {
  it('is understood as a whole', () => {
    const args = `--share team:edit --task-id ${TASK} --sandboxed --server-root-url ${URL} --model big --skill o/r:s --mcp {} --computer-use --harness claude --environment E --idle-on-complete 10m`;
    expect(readArgumentVector(args.split(' '))).toEqual({
      taskId: TASK,
      serverRootUrl: URL,
      workspace: undefined,
      idleOnComplete: '10m',
      ignored: [
        ...['--share', '--sandboxed', '--model', '--skill', '--mcp'],
        ...['--computer-use', '--harness', '--environment'],
      ],
    });
  });

  it('may have its values after an equals sign, empty ones and ones with equals signs too', () => {
    expect(readArgumentVector([`--task-id=${TASK}`, `--server-root-url=${URL}/?a=b`, '--mcp='])).toMatchObject({
      taskId: TASK,
      serverRootUrl: `${URL}/?a=b`,
      ignored: ['--mcp'],
    });
  });

  it('keeps a value that looks like a flag where a value has to be', () => {
    expect(readArgumentVector(['--model', '--odd', '--task-id', TASK])).toMatchObject({
      taskId: TASK,
      ignored: ['--model'],
    });
  });

  it.each([
    [['--idle-on-complete'], ''],
    [['--idle-on-complete', '--session-sharing-server-url', 'wss://x'], ''],
    [['--idle-on-complete', '45m'], '45m'],
    [['--idle-on-complete=0s'], '0s'],
    [[], null],
  ])('%j: idle-on-complete is %j', (args, idle) => {
    expect(readArgumentVector(args).idleOnComplete).toBe(idle);
  });

  it('ignores what it does not know, and never repeats a value', () => {
    const { ignored, taskId } = readArgumentVector([
      ...['--no-snapshot', 'stray', '--bedrock-inference-role', 'arn:secret', '-x', '--future', '--task-id', TASK],
    ]);
    expect(ignored).toEqual(['--no-snapshot', '(a word)', '--bedrock-inference-role', '-x', '--future']);
    expect(taskId).toBe(TASK);
  });
});

describe('endsWithItsTurn', () => {
  it.each([
    [null, true],
    ['0s', true],
    ['0', true],
    ['', false],
    ['10m', false],
    ['30s', false],
  ])('%j: %s', (value, ends) => {
    expect(endsWithItsTurn(value)).toBe(ends);
  });
});
