import { describe, expect, it } from 'vitest';
import { afterExternal } from './turn-outcome.js';

describe('afterExternal', () => {
  it('cancels what was cancelled where it ran, whatever waits', () => {
    expect(afterExternal({ reason: 'cancelled', isLost: false, hasMore: true })).toMatchObject({
      transition: 'cancel',
      status: { retryable: false },
    });
  });

  it('hands a message over that the session never took', () => {
    expect(afterExternal({ reason: 'closed', isLost: false, hasMore: true })).toEqual({
      transition: 'requeue',
      status: null,
    });
  });

  it.each([
    ['lease_expired', true],
    ['claim_expired', true],
    ['handed_back', false],
  ])('gives the run up after %s', (reason, isLost) => {
    const { transition, status } = afterExternal({ reason, isLost, hasMore: false });
    expect({ transition, code: status?.error_code, retryable: status?.retryable }).toEqual({
      transition: 'give_up',
      code: 'infrastructure_timeout',
      retryable: true,
    });
  });
});
