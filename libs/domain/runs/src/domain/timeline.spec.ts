import { describe, expect, it } from 'vitest';
import { isUuid } from '#platform/kernel';
import { CONVERSATION_KINDS, LIFECYCLE_KINDS, type RunEvent } from '#execution/runner-protocol';
import { projectTimeline } from './timeline.js';

const event = (seq: number, kind: RunEvent['kind'], data: Record<string, unknown> = {}): RunEvent => ({
  run_id: '01900000-0000-7000-8000-00000000000a',
  seq,
  execution_id: seq === 1 ? null : '42',
  kind,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, seq)),
  data,
});

describe('projectTimeline', () => {
  it('shows every lifecycle kind and no conversation kind, in the order of the log', () => {
    const kinds = [...LIFECYCLE_KINDS, ...CONVERSATION_KINDS];
    const timeline = projectTimeline(kinds.map((kind, index) => event(index + 1, kind)));
    expect(timeline.map((entry) => entry.event_type)).toEqual([...LIFECYCLE_KINDS]);
  });

  it('has the execution as a number, where there is one, and the payload without secrets', () => {
    const [created, finished] = projectTimeline([
      event(1, 'run_created'),
      event(2, 'setup_command_finished', {
        command: 'git clone https://me:pw@example.org/x',
        exit_code: 0,
        env: { A: 'b' },
      }),
    ]);
    expect(created).not.toHaveProperty('execution_id');
    expect(created).not.toHaveProperty('payload');
    expect(finished).toMatchObject({
      execution_id: 42,
      occurred_at: '2026-01-01T00:00:02.000Z',
      payload: { command: 'git clone https://***@example.org/x', exit_code: 0, env: { A: '***' } },
    });
  });

  it.each([null, 5, 'text', [1]])('has no payload for the data %j, which is no object', (data) => {
    const odd = { ...event(2, 'sandbox_ready'), data: data as never };
    expect(projectTimeline([odd])).toEqual([expect.not.objectContaining({ payload: expect.anything() })]);
  });

  it('names each event by a UUID that is the same at every reading and another for every event', () => {
    const read = () =>
      projectTimeline([event(1, 'run_created'), event(2, 'run_claimed')]).map((entry) => entry.event_uuid);
    const [first, second] = read();
    expect(read()).toEqual([first, second]);
    expect(first).not.toBe(second);
    expect(isUuid(first ?? '')).toBe(true);
    const other = { ...event(1, 'run_created'), run_id: '01900000-0000-7000-8000-00000000000b' };
    expect(projectTimeline([other])[0]?.event_uuid).not.toBe(first);
  });
});
