import type { DebugWindow } from '../domain/run.js';

/** That execution `e` (an alias) has a debug agent that works, or a message that waits for it. */
export const debugActive = (e: string): string =>
  `(${e}.busy_since IS NOT NULL OR EXISTS (SELECT 1 FROM run_followups df
     WHERE df.run_id = ${e}.run_id AND df.debug_execution_id = ${e}.id AND df.consumed_at IS NULL))`;

/** That the debug window of execution `e` is open. False, never null; costs nothing in other phases. */
export const debugOpen = (e: string): string =>
  `CASE WHEN ${e}.phase = 'debug' AND ${e}.desired = 'run' THEN ${e}.debug_until > headrace.now() OR ${debugActive(e)} ELSE false END`;

/** Columns of {@link DebugWindowRow}; `e` is the run's live execution (left join). */
export const DEBUG_WINDOW_COLUMNS = `CASE WHEN ${debugOpen('e')} THEN e.debug_until END AS debug_until,
  CASE WHEN e.phase = 'debug' THEN ${debugActive('e')} ELSE false END AS debug_active`;

export interface DebugWindowRow {
  /** Null unless the window is open. */
  debug_until: Date | null;
  debug_active: boolean;
}

export function toDebugWindow({ debug_until: until, debug_active: isAgentActive }: DebugWindowRow): DebugWindow | null {
  return until === null ? null : { until, isAgentActive };
}
