import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { MAX_ATTEMPTS } from '../domain/lease.js';
import { EXTERNAL_POOL } from '../domain/run.js';
import { DebugSessionsStore } from '../persistence/debug-sessions.store.js';
import type { Execution } from '../persistence/executions.store.js';
import { RestartsStore } from '../persistence/restarts.store.js';
import { type LockedRun, RunMoves } from '../persistence/run-moves.js';

/** A run begins again in another execution; `attempt` counts this one, of {@link MAX_ATTEMPTS}. */
export interface Restart {
  readonly way: 'retry' | 'resume';
  readonly attempt: number;
}

/** What brings a run back into the queue when its execution has ended. */
@Injectable()
export class Sequels {
  constructor(
    private readonly moves: RunMoves,
    private readonly debugSessions: DebugSessionsStore,
    private readonly restarts: RestartsStore,
  ) {}

  /** However a debug session ends, its run stays; only messages that it never took bring the run back into the queue. */
  async afterDebug(
    tx: Queryable,
    run: LockedRun,
    execution: Execution,
  ): Promise<{ move: 'requeue'; status: null } | null> {
    await this.moves.touch(tx, run.id);
    const isLeftOver = run.state === 'FAILED' && (await this.debugSessions.reroute(tx, run.id, execution.id));
    return isLeftOver ? { move: 'requeue', status: null } : null;
  }

  /**
   * By `on_worker_lost` of the run. `retry`: from the prompt, in a new session. `resume`: from the stored session, the turn
   * under way once more; without a stored session like `retry`. Null: the run does not begin again.
   */
  async afterLoss(tx: Queryable, run: LockedRun, execution: Execution): Promise<Restart | null> {
    if (run.pool === EXTERNAL_POOL) return null;
    const facts = await this.restarts.facts(tx, run.id);
    if (!facts || (facts.wish !== 'retry' && facts.wish !== 'resume')) return null;
    const attempt = facts.restarts + 2;
    if (attempt > MAX_ATTEMPTS) return null;
    if (facts.wish === 'resume' && facts.has_transcript) {
      await this.restarts.repeatTurn(tx, run.id, execution.id);
      return { way: 'resume', attempt };
    }
    await this.restarts.beginAnew(tx, run.id, facts.has_transcript && !facts.has_ended_turn);
    return { way: 'retry', attempt };
  }
}
