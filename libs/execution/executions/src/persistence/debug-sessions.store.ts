import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';
import { phaseAfter, phaseGuard } from '../domain/execution-phase.js';
import { MAX_REROUTES } from '../domain/status-message.js';

const OPEN: Statement = {
  name: 'debug-sessions.open',
  text: `UPDATE executions SET phase = ${phaseAfter('open_debug_window')}, idle_since = headrace.now(),
    debug_until = headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond'
  WHERE id = $1 AND ${phaseGuard('open_debug_window')}`,
};
const ADOPT: Statement = {
  name: 'debug-sessions.adopt',
  text: `UPDATE run_followups SET debug_execution_id = $2
   WHERE run_id = $1 AND consumed_at IS NULL AND debug_execution_id IS NOT NULL RETURNING id`,
};
const EXTEND: Statement = {
  name: 'debug-sessions.extend',
  text: `UPDATE executions SET debug_until = greatest(debug_until, headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond')
   WHERE id = $1 AND phase = 'debug'`,
};
const BUSY: Statement = {
  name: 'debug-sessions.busy',
  text: `UPDATE executions SET busy_since = coalesce(busy_since, headrace.now()), idle_since = NULL WHERE id = $1 AND phase = 'debug'`,
};
/** The time since when it waits; PAUSE of the executions counts the turn. */
const REST: Statement = {
  name: 'debug-sessions.rest',
  text: `UPDATE executions SET idle_since = headrace.now() WHERE id = $1 AND phase = 'debug'`,
};
const HAS_PENDING: Statement = {
  name: 'debug-sessions.has-pending',
  text: `SELECT EXISTS (SELECT 1 FROM run_followups WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL) AS pending`,
};
const REROUTE: Statement = {
  name: 'debug-sessions.reroute',
  text: `UPDATE run_followups SET reroutes = reroutes + 1
   WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL AND reroutes < ${MAX_REROUTES} RETURNING id`,
};

/** Executions in their debug window. The caller holds the run's lock and the execution's. */
@Injectable()
export class DebugSessionsStore {
  /** The window begins. Returns whether messages for an earlier debug session, which was lost, now wait for this one. */
  async open(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    await tx.query(OPEN, [executionId]);
    return (await tx.query(ADOPT, [runId, executionId])).length > 0;
  }

  /** The window ends its whole length from now; never earlier than it would have. */
  async extend(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(EXTEND, [executionId]);
  }

  async markBusy(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(BUSY, [executionId]);
  }

  /** After a turn that was counted. */
  async rest(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(REST, [executionId]);
  }

  async hasPending(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    const [row] = await tx.query<{ pending: boolean }>(HAS_PENDING, [runId, executionId]);
    return row?.pending ?? false;
  }

  /** The session ends: whether messages that it never took are to bring the run back into the queue. */
  async reroute(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    return (await tx.query(REROUTE, [runId, executionId])).length > 0;
  }
}
