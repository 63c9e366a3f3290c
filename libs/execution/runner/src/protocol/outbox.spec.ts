import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock } from '#platform/kernel';
import type { RunnerEvent } from '#execution/runner-protocol';
import { LeaseLostError, NoResponseError } from './control-plane.js';
import { Redactor } from '../redaction/redactor.js';
import { Outbox } from './outbox.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function box(answers: (number | Error)[] = [], maxOutputBytes = 1_000_000) {
  const sent: string[][] = [];
  const failures: unknown[] = [];
  const over = new AbortController();
  const outbox = new Outbox({
    send: (events) => {
      sent.push([...events]);
      const answer = answers.shift();
      if (answer instanceof Error) return Promise.reject(answer);
      const last = JSON.parse(events.at(-1) ?? '{}') as RunnerEvent;
      return Promise.resolve({ acked_seq: answer ?? last.source_seq, desired: 'run' });
    },
    onAck: () => undefined,
    onFailure: (error) => failures.push(error),
    clock: new SystemClock(),
    maxOutputBytes,
    redactor: new Redactor([]),
    signal: over.signal,
  });
  const events = () => sent.map((batch) => batch.map((json) => JSON.parse(json) as RunnerEvent));
  return { outbox, sent, events, failures, over };
}
const chunk = (text: string, id = 'm') => ({ message_id: id, text });

describe('batches', () => {
  it('are sent after 250 ms, urgent events at once', async () => {
    const { outbox, events } = box();
    outbox.push('message_chunk', chunk('a'));
    await vi.advanceTimersByTimeAsync(249);
    expect(events()).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(events()).toHaveLength(1);
    outbox.push('message_chunk', chunk('b'));
    outbox.push('turn_ended', { turn_id: 't', stop_reason: 'end_turn' });
    await vi.advanceTimersByTimeAsync(1);
    expect(events()[1]?.map(({ kind, source_seq }) => [kind, source_seq])).toEqual([
      ['message_chunk', 2],
      ['turn_ended', 3],
    ]);
  });

  it('are sent early at 64 KB, and are not much larger', async () => {
    const { outbox, sent } = box();
    for (let index = 0; index < 40; index += 1) outbox.push('message_chunk', chunk('x'.repeat(10_000), `m${index}`));
    await vi.advanceTimersByTimeAsync(1);
    expect(sent.length).toBeGreaterThanOrEqual(5);
    for (const batch of sent) expect(batch.join('').length).toBeLessThan(90_000);
  });

  it('are repeated with the same bytes although more events were pushed', async () => {
    const { outbox, sent } = box([new NoResponseError('503'), new NoResponseError('503')]);
    outbox.push('message_chunk', chunk('a'));
    await vi.advanceTimersByTimeAsync(250);
    outbox.push('message_chunk', chunk('b'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[2]).toEqual(sent[0]);
    expect(sent[3]?.map((json) => (JSON.parse(json) as RunnerEvent).source_seq)).toEqual([2]);
  });

  it('repeat only what is not acknowledged', async () => {
    const { outbox, events } = box([1]);
    outbox.push('message_chunk', chunk('a', '1'));
    outbox.push('message_chunk', chunk('b', '2'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(events().map((batch) => batch.map(({ source_seq }) => source_seq))).toEqual([[1, 2], [2]]);
  });

  it('stop permanently when the lease is lost', async () => {
    const { outbox, sent, failures } = box([new LeaseLostError('412')]);
    outbox.push('message_chunk', chunk('a'));
    const flushed = outbox.flush();
    await vi.advanceTimersByTimeAsync(1_000);
    await flushed;
    outbox.push('message_chunk', chunk('b'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent).toHaveLength(1);
    expect(failures).toHaveLength(1);
  });

  it('are all acknowledged when a flush resolves, also during another batch', async () => {
    const { outbox, events } = box([new NoResponseError('503')]);
    outbox.push('message_chunk', chunk('a'));
    await vi.advanceTimersByTimeAsync(260);
    outbox.push('thought_chunk', chunk('b'));
    let done = false;
    void outbox.flush().then(() => (done = true));
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toBe(true);
    expect(
      events()
        .at(-1)
        ?.map(({ source_seq }) => source_seq),
    ).toEqual([2]);
  });
});

describe('events', () => {
  it('are merged until they are sent', async () => {
    const { outbox, events } = box();
    outbox.push('message_chunk', chunk('a'));
    outbox.push('message_chunk', chunk('b'));
    outbox.push('tool_call', { tool_call_id: 't', status: 'pending', title: 'x' });
    outbox.push('tool_call', { tool_call_id: 't', status: 'in_progress' });
    outbox.push('tool_call', { tool_call_id: 't', content: 'one' });
    outbox.push('tool_call', { tool_call_id: 't', content: 'two' });
    await vi.advanceTimersByTimeAsync(250);
    expect(events()[0]?.map(({ data }) => data)).toEqual([
      chunk('ab'),
      { tool_call_id: 't', status: 'pending', title: 'x' },
      { tool_call_id: 't', status: 'in_progress', content: 'two' },
    ]);
    outbox.push('message_chunk', chunk('c'));
    await vi.advanceTimersByTimeAsync(250);
    expect(events()[1]?.[0]).toMatchObject({ source_seq: 4, data: { text: 'c' } });
  });

  it('are made storable and marked as sanitized', async () => {
    const { outbox, events } = box();
    outbox.push('turn_started', { turn_id: 't', prompt: 'a\0' });
    const small = { tool_call_id: 'c', title: 'Add', kind: 'other' as const, raw_input: { values: [1e30, 0] } };
    outbox.push('tool_call', small);
    outbox.push('tool_call', { ...small, tool_call_id: 'd', raw_input: { values: [1e308, -1e-31] } });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(
      events()
        .flat()
        .map(({ data }) => data),
    ).toEqual([
      { turn_id: 't', prompt: 'a\ufffd', sanitized: true },
      small,
      { ...small, tool_call_id: 'd', raw_input: { values: ['1e+308', '-1e-31'] }, sanitized: true },
    ]);
  });

  it('fit into a batch with any length of text', async () => {
    const { outbox, sent } = box();
    outbox.push('turn_started', { turn_id: 't', prompt: '\u0001'.repeat(1_000_000) });
    await vi.advanceTimersByTimeAsync(1);
    expect(Buffer.byteLength(sent[0]?.join('') ?? '')).toBeLessThan(400_000);
    expect(JSON.parse(sent[0]?.[0] ?? '')).toMatchObject({ data: { turn_id: 't' } });
  });

  it('are dropped beyond the output limit, except ends of calls', async () => {
    const { outbox, events } = box([], 1_000);
    outbox.push('tool_call', { tool_call_id: 'open', status: 'pending' });
    outbox.push('message_chunk', chunk('x'.repeat(2_000)));
    outbox.push('message_chunk', chunk('y', 'other'));
    outbox.push('tool_call', { tool_call_id: 'new', status: 'pending' });
    outbox.push('tool_call', { tool_call_id: 'new', status: 'completed' });
    outbox.push('tool_call', { tool_call_id: 'open', status: 'completed', output: 'z'.repeat(500) });
    outbox.push('turn_ended', { turn_id: 't', stop_reason: 'end_turn' });
    await vi.advanceTimersByTimeAsync(1);
    expect(events()[0]?.map(({ kind, data }) => [kind, data])).toEqual([
      ['tool_call', { tool_call_id: 'open', status: 'pending' }],
      ['output_truncated', { limit_bytes: 1_000 }],
      ['tool_call', { tool_call_id: 'open', status: 'completed' }],
      ['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }],
    ]);
  });
});
