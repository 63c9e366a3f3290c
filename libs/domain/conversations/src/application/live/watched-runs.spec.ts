import { expect, it, vi } from 'vitest';
import type { RunHead, RunTail } from '#execution/executions';
import type { RunEvent } from '#execution/runner-protocol';
import { type Settings } from '#platform/config';
import type { ConversationReader } from '../conversation-reader.js';
import { WatchedRuns } from './watched-runs.js';

/** More than one statement reads. */
const RUNS = 60;
const MANY = 250;
const TIMEOUT_MS = 20_000;

const headOf = (runId: string, lastSeq: number): RunHead => ({
  runId,
  lastSeq,
  state: 'INPROGRESS',
  statusMessage: null,
  updatedAt: new Date(0),
  conversationId: null,
  conversationFormat: null,
  isEnded: false,
});
const eventsOf = (runId: string, after: number, count: number): RunEvent[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => ({
    run_id: runId,
    seq: after + 1 + index,
    execution_id: null,
    kind: 'session_started',
    at: new Date(0),
    data: { session_id: 's' },
  }));

it('reads no event twice when one of the statements fails while another run is still read', async () => {
  const ids = Array.from({ length: RUNS }, (_, index) => `run-${index}`);
  let last = 1;
  let failures = 0;
  let releaseSlowRead = (): void => undefined;
  const slowRead = new Promise<void>((resolve) => {
    releaseSlowRead = resolve;
  });
  let headReads = 0;
  const tail = {
    heads: (wanted: readonly string[]) => {
      headReads += 1;
      return Promise.resolve(wanted.map((id) => headOf(id, last)));
    },
    readAll: (ranges: readonly { runId: string; afterSeq: number; upToSeq: number }[], limit: number) => {
      if (failures === 0 && ranges.some(({ runId }) => runId === ids.at(-1))) {
        failures += 1;
        return Promise.reject(new Error('canceling statement due to statement timeout'));
      }
      return Promise.resolve(
        new Map(
          ranges.map(({ runId, afterSeq, upToSeq }) => [
            runId,
            eventsOf(runId, afterSeq, Math.min(limit, upToSeq - afterSeq)),
          ]),
        ),
      );
    },
    read: async (runId: string, after: number, limit: number) => {
      await slowRead;
      return eventsOf(runId, after, Math.min(limit, last - after));
    },
    readLifecycle: () => Promise.resolve([]),
  } as unknown as RunTail;
  const reader = { openForStreams: () => Promise.resolve(null) } as unknown as ConversationReader;
  const runs = new WatchedRuns(tail, reader, { livePoll: 1 } as Settings);
  const watched = await Promise.all(ids.map((id) => runs.watch(headOf(id, 1), 1)));
  last = MANY;
  await vi.waitFor(() => expect(failures).toBe(1), TIMEOUT_MS);
  const reads = headReads;
  releaseSlowRead();
  // The next poll begins after this one, and reads what has failed.
  await vi.waitFor(() => expect(watched.every(({ head }) => head.lastSeq === MANY)).toBe(true), TIMEOUT_MS);
  expect(headReads).toBeGreaterThan(reads);
  for (const run of watched) {
    const seqs: number[] = [];
    for await (const { seq } of run.timelineAfter(1, MANY)) seqs.push(seq);
    expect(seqs).toEqual(Array.from({ length: MANY - 1 }, (_, index) => index + 2));
  }
  await runs.onModuleDestroy();
});

it('polls many runs in groups at different times, and each of them once per interval', async () => {
  const ids = Array.from({ length: 96 }, (_, index) => `run-${index}`);
  const polled: (readonly string[])[] = [];
  const tail = {
    heads: (wanted: readonly string[]) => {
      polled.push(wanted);
      return Promise.resolve(wanted.map((id) => headOf(id, 1)));
    },
  } as unknown as RunTail;
  const reader = { openForStreams: () => Promise.resolve(null) } as unknown as ConversationReader;
  const runs = new WatchedRuns(tail, reader, { livePoll: 160 } as Settings);
  await Promise.all(ids.map((id) => runs.watch(headOf(id, 1), 1)));
  // The first timer started with the first run, when it was the only one.
  await vi.waitFor(() => expect(polled.length).toBeGreaterThanOrEqual(16), TIMEOUT_MS);
  await runs.onModuleDestroy();
  expect(polled.slice(0, 16).map(({ length }) => length)).toEqual(Array.from({ length: 16 }, () => 12));
  for (const interval of [polled.slice(0, 8), polled.slice(8, 16)]) expect(interval.flat()).toEqual(ids);
});
