import type { DebugWindow, StatusMessage } from './run.js';

/** A debug agent that works longer without an answer is stopped: nobody can cancel a run that has failed. */
export const MAX_DEBUG_TURN_MS = 60 * 60_000;

/** How often a message for a debug session that was lost puts its run back into the queue. */
export const MAX_REROUTES = 1;

/** What a failed run's status tells while its debug window is open. */
export function withDebugWindow(status: StatusMessage | null, window: DebugWindow | null): StatusMessage | null {
  if (status === null || window === null) return status;
  return {
    ...status,
    session_debug_until: window.until.toISOString(),
    debug_agent_active: window.isAgentActive,
  };
}
