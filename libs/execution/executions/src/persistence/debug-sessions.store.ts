import { Injectable } from '@nestjs/common';
import { type Queryable, statement } from '#platform/persistence';
import { phaseAfter, phaseGuard } from '../domain/execution-phase.js';
import { MAX_REROUTES } from '../domain/status-message.js';

const OPEN = statement('debug-sessions.open')`
  UPDATE executions SET phase = ${phaseAfter('open_debug_window')}, idle_since = headrace.now(),
    debug_until = headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond'
  WHERE id = $1 AND ${phaseGuard('open_debug_window')}`;
const ADOPT = statement('debug-sessions.adopt')`UPDATE run_followups SET debug_execution_id = $2
   WHERE run_id = $1 AND consumed_at IS NULL AND debug_execution_id IS NOT NULL RETURNING id`;
const EXTEND = statement('debug-sessions.extend')`
  UPDATE executions SET debug_until = greatest(debug_until, headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond')
   WHERE id = $1 AND phase = 'debug'`;
const BUSY = statement('debug-sessions.busy')`
  UPDATE executions SET busy_since = coalesce(busy_since, headrace.now()), idle_since = NULL WHERE id = $1 AND phase = 'debug'`;
/** The time since when it waits; PAUSE of the executions counts the turn. */
const REST = statement('debug-sessions.rest')`
  UPDATE executions SET idle_since = headrace.now() WHERE id = $1 AND phase = 'debug'`;
const HAS_PENDING = statement('debug-sessions.has-pending')`
  SELECT EXISTS (SELECT 1 FROM run_followups WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL) AS pending`;
const REROUTE = statement('debug-sessions.reroute')`UPDATE run_followups SET reroutes = reroutes + 1
   WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL AND reroutes < ${MAX_REROUTES} RETURNING id`;

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
