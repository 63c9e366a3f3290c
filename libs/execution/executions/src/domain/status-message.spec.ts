import { describe, expect, it } from 'vitest';
import { withDebugWindow } from './run.js';

const STATUS = { message: 'It failed.', error_code: 'environment_setup_failed', retryable: false } as const;
const WINDOW = { until: new Date('2026-03-01T10:00:00.000Z'), isAgentActive: true };

describe('what a status tells of the debug window', () => {
  it('until when, and whether its agent is at work, beside what was there', () => {
    expect(withDebugWindow(STATUS, WINDOW)).toEqual({
      ...STATUS,
      session_debug_until: '2026-03-01T10:00:00.000Z',
      debug_agent_active: true,
    });
  });

  it('nothing while none is open, or where there is no status', () => {
    expect(withDebugWindow(STATUS, null)).toEqual(STATUS);
    expect(withDebugWindow(null, WINDOW)).toBeNull();
  });
});
