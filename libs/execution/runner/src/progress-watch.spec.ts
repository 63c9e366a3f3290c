import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AgentFailure } from './acp/model-failure.js';
import { ProgressWatch, retryInLog } from './progress-watch.js';
import type { PlainEvent } from './protocol/outgoing-events.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watchFor(timeoutMs: number, isBusy = (): boolean => false) {
  const events: PlainEvent[] = [];
  const watch = new ProgressWatch({ timeoutMs, isBusy, emit: (event) => events.push(event) });
  const failures: unknown[] = [];
  watch.start().catch((error: unknown) => failures.push(error));
  return { watch, events, failures, kinds: () => events.map(({ kind }) => kind) };
}

const RATE_LIMIT = { kind: 'rate_limit', message: 'The agent waits.' } as const;

it('reports silence after a minute, and progress after that', async () => {
  const { watch, events, kinds } = watchFor(1_800_000);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(events).toEqual([]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(events).toMatchObject([
    { kind: 'agent_waiting', data: { message: expect.stringMatching(/reported nothing for 60 s/) as string } },
  ]);
  watch.progress();
  expect(kinds()).toEqual(['agent_waiting', 'agent_resumed']);
});

it('fails a turn whose requests are repeated for too long, with the code of their failure', async () => {
  const { watch, events, failures } = watchFor(120_000);
  watch.retry(RATE_LIMIT);
  await vi.advanceTimersByTimeAsync(119_000);
  expect(failures).toEqual([]);
  watch.retry(RATE_LIMIT);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(events).toHaveLength(1);
  expect(failures).toEqual([expect.any(AgentFailure)]);
  expect(failures[0]).toMatchObject({
    message:
      'The model provider limits the rate of requests. The agent made no progress for 2 min (AGENT_PROGRESS_TIMEOUT).',
    report: { error_code: 'rate_limited', retryable: true },
  });
});

it('waits as long as a tool call or a permission request is open', async () => {
  let isBusy = true;
  const { events, failures } = watchFor(120_000, () => isBusy);
  await vi.advanceTimersByTimeAsync(600_000);
  expect([...events, ...failures]).toEqual([]);
  isBusy = false;
  await vi.advanceTimersByTimeAsync(140_000);
  expect(failures).toHaveLength(1);
});

it('reports nothing between turns', async () => {
  const { watch, events, failures } = watchFor(1_000);
  watch.stop();
  watch.retry(RATE_LIMIT);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([...events, ...failures]).toEqual([]);
});

const FAILED = 'message="stream error" error.error="AI_APICallError: \\"Team\\": Rate limit reached."';

it('reads the log of the agents that report repeated requests there, and of no other', () => {
  expect(retryInLog('opencode', FAILED)).toMatchObject({ kind: 'rate_limit' });
  expect(retryInLog('claude', FAILED)).toBeNull();
  expect(retryInLog('qwen', FAILED)).toBeNull();
  expect(retryInLog('opencode', 'error.error="Rate limit reached." message="stream error"')).toBeNull();
});

it.each(['message="stream error" ', 'message="stream error" error.error="', 'message="stream error" error.error="\\'])(
  'reads long lines of repeated %j in a short time',
  (part) => {
    const line = part.repeat(Math.floor(4_000_000 / part.length));
    const startedAt = process.cpuUsage();
    retryInLog('opencode', line);
    expect(process.cpuUsage(startedAt).user).toBeLessThan(200_000);
  },
);
