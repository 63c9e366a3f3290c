import { describe, expect, it } from 'vitest';
import { ExecutionTokens } from './execution-token.js';
import { leaseTimes, leaseGraceMs, sweepIntervalMs } from './lease.js';
import { turnOutcome } from './turn-outcome.js';

describe('ExecutionTokens', () => {
  const tokens = new ExecutionTokens('k'.repeat(32));

  it('opens its own execution and nothing else', () => {
    const token = tokens.mint('17');
    expect(tokens.verify(token)).toBe('17');
    expect(tokens.verify(token.replace('hrx_17_', 'hrx_18_'))).toBeNull();
    expect(tokens.verify(`${token}x`)).toBeNull();
    expect(tokens.verify('')).toBeNull();
    expect(new ExecutionTokens('other'.repeat(8)).verify(token)).toBeNull();
    expect(new ExecutionTokens('other'.repeat(8), ['k'.repeat(32)]).verify(token)).toBe('17');
    expect(tokens.marker('17')).not.toContain(token.slice(7));
  });
});

describe('turnOutcome', () => {
  it('blames the agent for refusals and limits, and nobody for a cancelled turn', () => {
    expect(turnOutcome({ stop_reason: 'end_turn' })).toEqual({ transition: 'succeed' });
    expect(turnOutcome({ stop_reason: 'cancelled' })).toEqual({ transition: 'none' });
    expect(turnOutcome({ stop_reason: 'cancelled' }, true)).toMatchObject({ transition: 'succeed' });
    expect(turnOutcome({ stop_reason: 'refusal' }, true)).toMatchObject({ transition: 'fail' });
    for (const stop_reason of ['refusal', 'max_tokens', 'max_turn_requests', 'error'] as const) {
      expect(turnOutcome({ stop_reason })).toMatchObject({
        transition: 'fail',
        status: { error_code: 'agent_process_failed' },
      });
    }
  });
});

describe('lease times', () => {
  it('fence the runner before the server gives up, and keep within 30 % and two seconds', () => {
    for (const ttl of [1000, 3000, 90_000, 600_000]) {
      const runnerFence = (ttl * 8) / 9;
      expect(runnerFence).toBeLessThan(leaseGraceMs(ttl));
      if (ttl <= 3000) expect(leaseGraceMs(ttl) + sweepIntervalMs(ttl)).toBeLessThanOrEqual(ttl * 1.3 + 2000);
      expect(leaseTimes(ttl).next_beat_seconds * 1000 * 1.2).toBeLessThan(runnerFence / 2);
    }
  });
});
