import { Injectable } from '@nestjs/common';
import type { InterruptFailed, InterruptRequested, TurnEnded } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { Database, type Transaction } from '#platform/persistence';
import { STOP_FENCE_MS } from '../domain/lease.js';
import type { NewRunEvent, PrincipalRef } from '../domain/run.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { type Execution, ExecutionsStore } from '../persistence/executions.store.js';
import { InterruptsStore } from '../persistence/interrupts.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { type LockedRun, RunTransitions } from '../persistence/run-transitions.store.js';
import { withdrawnEvents } from './approvals.service.js';
import type { EventContext } from './event-context.js';

/** `no_turn`: none is open, because the next one has not begun. */
export type InterruptOutcome = 'requested' | 'no_turn';

const IGNORED =
  'The runner did not react to the interrupt; it may be of a version without this operation. The turn continues.';

/**
 * Ends the open turn of a run and keeps its session. The interrupt names the turn, so it has no effect on a later one. The run
 * changes with the report of the runner that the turn has ended, as after any turn.
 */
@Injectable()
export class TurnInterrupter {
  constructor(
    private readonly database: Database,
    private readonly transitions: RunTransitions,
    private readonly executions: ExecutionsStore,
    private readonly interrupts: InterruptsStore,
    private readonly approvals: ApprovalsStore,
    private readonly log: RunLogStore,
    private readonly settings: Settings,
  ) {}

  /** The caller holds the locks of the run and the execution; the run is INPROGRESS or BLOCKED. */
  async interrupt(tx: Transaction, run: LockedRun, execution: Execution, by: PrincipalRef): Promise<InterruptOutcome> {
    const turnId = await this.interrupts.openTurn(tx, run.id, execution.id);
    if (turnId === null) return 'no_turn';
    // The same turn again: the first request counts.
    if (execution.is_interrupt_open && execution.interrupt_turn_id === turnId) return 'requested';
    // A runner that supports interrupts reports within the timeout and the time that a stop may take.
    const expiresAfterMs = this.settings.interruptTimeout + STOP_FENCE_MS;
    await this.interrupts.order(tx, execution.id, { turnId, by, expiresAfterMs });
    const requested: InterruptRequested = { turn_id: turnId, principal: { type: by.type, uid: by.uid } };
    const withdrawn = withdrawnEvents(await this.approvals.dropPending(tx, run.id, execution.id));
    if (run.state === 'BLOCKED') await this.transitions.apply(tx, run.id, 'unblock');
    await this.log.append(tx, run.id, execution.id, [{ kind: 'interrupt_requested', data: requested }, ...withdrawn]);
    return 'requested';
  }

  /** Whether the turn ended because of its interrupt, so that the session continues. Costs nothing without an interrupt. */
  async recordTurnEnd({ tx, execution, log }: EventContext, turn: TurnEnded): Promise<boolean> {
    const { interrupt_turn_id: turnId, interrupt_by: by } = execution;
    if (turnId === null || by === null || turnId !== turn.turn_id) return false;
    if (execution.is_interrupt_open) await this.interrupts.clear(tx, execution.id);
    if (turn.interrupt === 'unanswered') log.push(failed(turnId, 'agent', messageOf(turn)));
    const isInterrupted = turn.interrupt === 'done' && turn.stop_reason === 'cancelled';
    const data: InterruptRequested = { turn_id: turnId, principal: by };
    if (isInterrupted) log.push({ kind: 'run_interrupted', data });
    return isInterrupted;
  }

  /** The runner has ignored the interrupt. Nothing else changes: the turn may have an effect that nobody may repeat. */
  async expireIfDue(runId: string, executionId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (!run || !execution?.is_interrupt_overdue || execution.interrupt_turn_id === null) return;
      await this.interrupts.clear(tx, executionId);
      await this.log.append(tx, runId, executionId, [failed(execution.interrupt_turn_id, 'runner', IGNORED)]);
    });
  }
}

function failed(turnId: string, unansweredBy: InterruptFailed['unanswered_by'], message: string): NewRunEvent {
  const data: InterruptFailed = { turn_id: turnId, unanswered_by: unansweredBy, message };
  return { kind: 'interrupt_failed', data };
}

/** Runners may report any value. */
const messageOf = ({ message }: TurnEnded): string =>
  typeof message === 'string' ? message : 'The agent did not end its turn after an interrupt, and was stopped.';
