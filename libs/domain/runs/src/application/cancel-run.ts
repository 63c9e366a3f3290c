import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Database } from '#platform/persistence';
import {
  ExecutionsStore,
  isEnded,
  RUN_STATE_MACHINE,
  type RunState,
  STOP_FENCE_MS,
  FollowupsStore,
  RunLogStore,
  RunTransitions,
} from '#execution/executions';
import { isCancellableKind } from '../domain/run.js';
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
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly log: RunLogStore,
    private readonly settings: Settings,
  ) {}

  async execute(caller: Caller, runId: string): Promise<CancelRunResult> {
    const lookup = await this.access.find(caller, runId, 'runs:write');
    if (lookup.kind !== 'found') return lookup;
    const cancellable = isCancellableKind(lookup.run, this.settings.selfHostedCancel);
    return this.database.transaction(async (tx): Promise<CancelRunResult> => {
      const run = await this.transitions.lock(tx, runId);
      if (!run) return { kind: 'unknown' };
      const execution = await this.executions.lockLive(tx, runId);
      const transition = RUN_STATE_MACHINE.apply(run.state, 'cancel');
      if (isEnded(run.state, execution !== null)) return { kind: 'gone', state: run.state };
      if ('refuse' in transition) return { kind: 'busy' };
      // Nobody but the worker could end an adopted execution, and the worker may not know it.
      if (!cancellable && execution?.is_adopted !== true) return { kind: 'not_supported' };
      await this.followups.dropPending(tx, runId);
      await this.transitions.apply(tx, runId, 'cancel', { message: 'Cancelled.', retryable: false });
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
