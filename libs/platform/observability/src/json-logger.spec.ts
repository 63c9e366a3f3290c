import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JsonLogger } from './json-logger.js';
import { newContext, runInContext } from './request-context.js';

type Line = Record<string, unknown>;

function capture(sumsUpRepetitions = false): { logger: JsonLogger; lines: () => Line[] } {
  const written: string[] = [];
  const logger = new JsonLogger('debug', { write: (line: string) => void written.push(line) }, sumsUpRepetitions);
  return { logger, lines: () => written.map((line) => JSON.parse(line) as Line) };
}

describe('a line', () => {
  it('has each field of a message that is an object, with `msg` as its text', () => {
    const { logger, lines } = capture();
    logger.warn({ msg: 'runner ended', execution_id: '7', code: 69 }, 'HostedWorker');
    expect(lines()).toMatchObject([
      { level: 'warn', msg: 'runner ended', execution_id: '7', code: 69, logger: 'HostedWorker' },
    ]);
  });

  it('has the fields that follow a text, and the stack of an error', () => {
    const { logger, lines } = capture();
    logger.log('request', { status: 200 }, 'Http');
    logger.error(new Error('broken'), 'Placement');
    expect(lines()).toMatchObject([
      { msg: 'request', status: 200, logger: 'Http' },
      { msg: 'broken', logger: 'Placement', stack: expect.stringContaining('json-logger.spec') },
    ]);
  });
});

describe('equal warnings and errors', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are written once, and then counted every ten seconds for as long as they come', () => {
    const { logger, lines } = capture(true);
    const say = () => logger.error(new Error('canceling statement'), 'Placement');
    for (let count = 0; count < 120; count += 1) say();
    expect(lines()).toHaveLength(1);
    vi.advanceTimersByTime(10_000);
    expect(lines().slice(1)).toMatchObject([{ level: 'error', msg: 'canceling statement', repeated: 119 }]);
    say();
    vi.advanceTimersByTime(10_000);
    expect(lines().slice(2)).toMatchObject([{ msg: 'canceling statement', repeated: 1 }]);
    vi.advanceTimersByTime(10_000);
    say();
    expect(lines()).toHaveLength(4);
    expect(lines()[3]).not.toHaveProperty('repeated');
  });

  it('are not confused with lines that differ in a field, the level or the class', () => {
    const { logger, lines } = capture(true);
    logger.warn('runner ended', { execution_id: '1' }, 'Runner');
    logger.warn('runner ended', { execution_id: '2' }, 'Runner');
    logger.error('runner ended', { execution_id: '1' }, 'Runner');
    logger.warn('runner ended', { execution_id: '1' }, 'Other');
    expect(lines()).toHaveLength(4);
  });

  it('are all written where each has the trace id of a request that failed', () => {
    const { logger, lines } = capture(true);
    for (let count = 0; count < 3; count += 1)
      runInContext(newContext(), () => logger.error('broken', 'ProblemWriter'));
    for (let count = 0; count < 3; count += 1) runInContext(newContext(), () => logger.warn('waits', 'ProblemWriter'));
    expect(lines().map(({ msg }) => msg)).toEqual(['broken', 'broken', 'broken', 'waits']);
  });

  it('are all written unless the logger is asked to sum them up', () => {
    const { logger, lines } = capture();
    logger.warn('again', 'X');
    logger.warn('again', 'X');
    expect(lines()).toHaveLength(2);
  });
});

it('writes the lines of single loggers by their own level', () => {
  const lines: string[] = [];
  const levels = new Map([
    ['Http', 'warn'],
    ['Timer', 'debug'],
  ] as const);
  const logger = new JsonLogger('info', { write: (line) => void lines.push(line) }, false, levels);
  logger.log('request', 'Http');
  logger.warn('slow', 'Http');
  logger.debug('due', 'Timer');
  logger.debug('detail', 'Other');
  logger.log('started', 'Other');
  logger.log('without a name');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'slow',
    'due',
    'started',
    'without a name',
  ]);
});
