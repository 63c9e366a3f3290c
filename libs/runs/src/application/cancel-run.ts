import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { Database } from '#libs/persistence';
import { STOP_FENCE_MS } from '../domain/lease.js';
import { isCancellableKind } from '../domain/run.js';
import { isEnded, RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunMoves } from '../persistence/run-moves.js';
import { RunAccess } from './run-access.js';

export type CancelRunResult =
  | { readonly kind: 'cancelled'; readonly runId: string }
  | { readonly kind: 'unknown' | 'not_yours' | 'busy' | 'not_supported' }
  | { readonly kind: 'gone'; readonly state: RunState };

/** Cancels a run: it is CANCELLED at once; its agent is told to stop, and its slot comes free when nothing of it runs. */
@Injectable()
export class CancelRun {
  constructor(
    private readonly database: Database,
    private readonly access: RunAccess,
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly log: RunLogStore,
    private readonly followups: FollowupsStore,
  ) {}

  async execute(caller: Caller, runId: string): Promise<CancelRunResult> {
    const lookup = await this.access.find(caller, runId, 'runs:write');
    if (lookup.kind !== 'found') return lookup;
    const cancellable = isCancellableKind(lookup.run);
    return this.database.transaction(async (tx): Promise<CancelRunResult> => {
      const run = await this.moves.lock(tx, runId);
      if (!run) return { kind: 'unknown' };
      const execution = await this.executions.lockLive(tx, runId);
      const transition = RUN_STATE_MACHINE.apply(run.state, 'cancel');
      if (isEnded(run.state, execution !== null)) return { kind: 'gone', state: run.state };
      if ('refuse' in transition) return { kind: 'busy' };
      if (!cancellable) return { kind: 'not_supported' };
      await this.followups.dropPending(tx, runId);
      await this.moves.move(tx, runId, 'cancel', { message: 'Cancelled.', retryable: false });
      await this.log.append(tx, runId, execution?.id ?? null, [
        { kind: 'run_cancelled', data: { principal: { type: caller.principal.type, uid: caller.principal.uid } } },
      ]);
      if (execution)
        await this.executions.command(tx, execution.id, {
          desired: 'stop',
          reason: 'cancelled',
          fenceAfterMs: STOP_FENCE_MS,
        });
      return { kind: 'cancelled', runId };
    });
  }
}
