import { describe, expect, it } from 'vitest';
import { isEnded, RUN_STATE_MACHINE, RUN_STATES } from './run-state.js';

describe('run state machine', () => {
  it('says for every event what it does in every state', () => {
    for (const event of RUN_STATE_MACHINE.events()) {
      expect(Object.keys(RUN_STATE_MACHINE.definition.table[event]).sort()).toEqual([...RUN_STATES].sort());
    }
  });

  it('gives every event one target, so that each is one guarded UPDATE', () => {
    const targets = Object.fromEntries(
      RUN_STATE_MACHINE.events().map((event) => [event, RUN_STATE_MACHINE.target(event)]),
    );
    expect(targets).toEqual({
      offer: 'PENDING',
      claim: 'CLAIMED',
      hand_back: 'QUEUED',
      retry: 'QUEUED',
      start: 'INPROGRESS',
      block: 'BLOCKED',
      unblock: 'INPROGRESS',
      succeed: 'SUCCEEDED',
      fail: 'FAILED',
      give_up: 'ERROR',
      cancel: 'CANCELLED',
      resume: 'INPROGRESS',
      requeue: 'QUEUED',
    });
  });

  it.each([
    ['QUEUED', { to: 'CANCELLED' }],
    ['PENDING', { refuse: 'busy' }],
    ['CLAIMED', { to: 'CANCELLED' }],
    ['INPROGRESS', { to: 'CANCELLED' }],
    ['BLOCKED', { to: 'CANCELLED' }],
    ['SUCCEEDED', { refuse: 'gone' }],
    ['FAILED', { refuse: 'gone' }],
    ['ERROR', { refuse: 'gone' }],
    ['CANCELLED', { refuse: 'gone' }],
  ] as const)('cancel of %s', (state, transition) => {
    expect(RUN_STATE_MACHINE.apply(state, 'cancel')).toEqual(transition);
  });

  it('counts BLOCKED as ended only without a live execution', () => {
    expect(isEnded('BLOCKED', true)).toBe(false);
    expect(isEnded('BLOCKED', false)).toBe(true);
    expect(isEnded('INPROGRESS', false)).toBe(false);
    expect(isEnded('CANCELLED', true)).toBe(true);
  });
});
