import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { AcpNormalizer } from './normalizer.js';
import { PermissionBroker } from './permission-broker.js';

const QUESTION = { text: 'Which one?', options: ['One', 'Two'], allowText: false };

describe('a question that its agent has stopped waiting for', () => {
  const events: PlainEvent[] = [];
  let broker: PermissionBroker;
  beforeEach(() => {
    vi.useFakeTimers();
    events.length = 0;
    const rules = { permission_policy: 'deny' as const, permission_allow_list: [], interactive: false };
    broker = new PermissionBroker(
      rules,
      new AcpNormalizer(),
      (text) => text,
      '/w',
      (event) => events.push(event),
    );
    broker.startTurn();
  });
  afterEach(() => vi.useRealTimers());

  const id = () => String(events[0]?.data['approval_id']);
  async function giveUp(): Promise<void> {
    const leaving = new AbortController();
    const asked = broker.ask(QUESTION, leaving.signal);
    leaving.abort();
    expect(await asked).toEqual({ kind: 'withdrawn' });
    expect(events.map(({ kind }) => kind)).toEqual(['permission_requested']);
  }
  const askAgain = () => broker.ask({ ...QUESTION }, new AbortController().signal);
  const answered = { kind: 'answered', answer: { option_id: '2', option: 'Two' }, by: { type: 'user' } };
  const answer = (): void =>
    broker.decide([
      {
        approval_id: id(),
        decision: 'answer',
        answer: { option_id: '2', option: '***' },
        answered_by: { type: 'user' },
      },
    ]);

  it('is the same when it is asked again in time', async () => {
    await giveUp();
    await vi.advanceTimersByTimeAsync(119_000);
    const again = askAgain();
    await vi.advanceTimersByTimeAsync(600_000);
    answer();
    expect(await again).toEqual(answered);
    expect(events).toHaveLength(1);
    const another = askAgain();
    expect(events.map(({ kind }) => kind)).toEqual(['permission_requested', 'permission_requested']);
    broker.cancelAll();
    expect(await another).toEqual({ kind: 'withdrawn' });
  });

  it('keeps the answer that arrives meanwhile', async () => {
    await giveUp();
    answer();
    expect(await askAgain()).toEqual(answered);
    expect(events).toHaveLength(1);
  });

  it('is withdrawn after two minutes', async () => {
    await giveUp();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(events.at(-1)).toMatchObject({
      kind: 'permission_decided',
      data: { approval_id: id(), kind: 'question', decision: 'deny', by: 'cancel' },
    });
    expect(broker.isWaiting).toBe(false);
    void askAgain();
    expect(events.at(-1)?.kind).toBe('permission_requested');
  });

  it('does not count any more after that', async () => {
    for (let number = 1; number <= 10; number += 1) {
      const leaving = new AbortController();
      const asked = broker.ask({ ...QUESTION, text: String(number) }, leaving.signal);
      leaving.abort();
      await asked;
    }
    await vi.advanceTimersByTimeAsync(120_000);
    void askAgain();
    expect(events.at(-1)).toMatchObject({ kind: 'permission_requested', data: { title: QUESTION.text } });
  });

  it('is withdrawn with the turn, and so are all others', async () => {
    await giveUp();
    const open = broker.ask({ ...QUESTION, text: 'Another?' }, new AbortController().signal);
    broker.endTurn();
    expect(await open).toEqual({ kind: 'withdrawn' });
    expect(events.filter(({ kind }) => kind === 'permission_decided')).toHaveLength(2);
    expect(await askAgain()).toEqual({ kind: 'no_turn' });
  });

  it('is one of at most ten', async () => {
    for (let number = 1; number <= 10; number += 1)
      void broker.ask({ ...QUESTION, text: String(number) }, new AbortController().signal);
    expect(await askAgain()).toEqual({ kind: 'too_many' });
    expect(events).toHaveLength(10);
  });
});
