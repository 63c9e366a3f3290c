import { Injectable } from '@nestjs/common';
import { type Queryable, statement } from '#platform/persistence';
import { COMMANDS_CHANNEL } from '../domain/lease.js';
import type { PrincipalRef } from '../domain/run.js';

/** Read when a turn is interrupted, so that reports of turns write no column more. */
const OPEN_TURN = statement('interrupts.open-turn')`
  SELECT CASE WHEN kind = 'turn_started' THEN data->>'turn_id' END AS turn_id FROM run_events
   WHERE run_id = $1 AND execution_id = $2 AND kind IN ('turn_started', 'turn_ended') ORDER BY seq DESC LIMIT 1`;

/** `$4`: milliseconds after which the interrupt is given up. The runner reads it with its next commands. */
const ORDER = statement('interrupts.order')`WITH ordered AS (
    UPDATE executions SET interrupt_turn_id = $2, interrupt_by = $3::jsonb, command_version = command_version + 1,
      interrupt_expires_at = headrace.now() + $4::int * interval '1 millisecond'
    WHERE id = $1 AND ended_at IS NULL RETURNING id)
  SELECT pg_notify('${COMMANDS_CHANNEL}', id::text) FROM ordered`;

const CLEAR = statement('interrupts.clear')`UPDATE executions SET interrupt_expires_at = NULL WHERE id = $1`;

/** Interrupts of turns, as columns of the execution. The caller holds the locks of the run and the execution. */
@Injectable()
export class InterruptsStore {
  /** The id of the turn that the runner has reported last, unless it has ended. */
  async openTurn(tx: Queryable, runId: string, executionId: string): Promise<string | null> {
    const [row] = await tx.query<{ turn_id: string | null }>(OPEN_TURN, [runId, executionId]);
    return row?.turn_id ?? null;
  }

  async order(
    tx: Queryable,
    executionId: string,
    order: { readonly turnId: string; readonly by: PrincipalRef; readonly expiresAfterMs: number },
  ): Promise<void> {
    await tx.query(ORDER, [executionId, order.turnId, JSON.stringify(order.by), order.expiresAfterMs]);
  }

  async clear(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(CLEAR, [executionId]);
  }
}
