import { Injectable } from '@nestjs/common';
import { isEnded, type PrincipalRef } from '#execution/executions';
import { Database } from '#platform/persistence';
import { ConcurrencyStore } from '../persistence/concurrency.store.js';
import { type KeyedRun, type NewRun, RunInserts, type ScopedClaim } from '../persistence/run-inserts.js';
import { RunsService } from './runs.service.js';

/**
 * What happens to the newest run with the same key. `allow`: nothing. `skip`: no run is created while it is active.
 * `supersede`: it is cancelled, or no run is created if it is for a newer event. `continue`: no run is created; the caller
 * sends it a message.
 */
export type ConcurrencyPolicy = 'allow' | 'skip' | 'supersede' | 'continue';

export interface RunConcurrency {
  /** Unique among the runs of the owner, at most 500 characters. */
  readonly key: string;
  readonly policy: ConcurrencyPolicy;
  /** Another key that the run holds without a policy. */
  readonly sharedKey: string | null;
  /** When that happened which the run is for. */
  readonly eventAt: Date;
  /** With `continue`: the run that cannot be continued, which this one replaces while it still is the newest. */
  readonly replaces?: string | null;
}

export type ConcurrentRun = KeyedRun | { readonly kind: 'concurrent'; readonly runId: string };

const MAX_ATTEMPTS = 5;
/** Another transaction has created the first run of the key. */
class HolderChangedError extends Error {}

/** Creates runs that are not to be active together with others. */
@Injectable()
export class ConcurrentRuns {
  constructor(
    private readonly database: Database,
    private readonly keys: ConcurrencyStore,
    private readonly inserts: RunInserts,
    private readonly runs: RunsService,
  ) {}

  async insert(run: NewRun, claim: ScopedClaim | null, concurrency: RunConcurrency): Promise<ConcurrentRun> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      try {
        const result = await this.attempt(run, claim, concurrency);
        if (result) return result;
      } catch (error) {
        if (!(error instanceof HolderChangedError)) throw error;
      }
    }
    throw new Error(`The run with the concurrency key ${concurrency.key} changed during each of the attempts.`);
  }

  /** Null when the claim was used before; it is read after the transaction, which is committed by then. */
  private async attempt(
    run: NewRun,
    claim: ScopedClaim | null,
    { key, policy, sharedKey, eventAt, replaces = null }: RunConcurrency,
  ): Promise<ConcurrentRun | null> {
    const result = await this.database.transaction(async (tx): Promise<ConcurrentRun | null> => {
      const keyed = { runId: run.id, eventAt };
      const before = policy === 'allow' ? null : await this.keys.lock(tx, run.slot_key, key);
      // An earlier attempt for the same event may have ended after the caller had looked for its run.
      if (before !== null && claim && (await this.inserts.find(claim, tx))) return null;
      if (before !== null && policy === 'continue' && before.runId !== replaces)
        return { kind: 'concurrent', runId: before.runId };
      const holder = before === null ? null : await this.keys.read(tx, before.runId);
      const isActive = holder !== null && !isEnded(holder.state, holder.hasLiveExecution);
      if (before !== null && (policy === 'skip' ? isActive : policy === 'supersede' && before.eventAt > eventAt))
        return { kind: 'concurrent', runId: before.runId };
      const inserted = await this.inserts.insertIn(tx, run, claim);
      if (!inserted) return null;
      if (policy === 'allow') await this.keys.holdAsNewest(tx, run.slot_key, key, keyed);
      else if (!(await this.keys.hold(tx, run.slot_key, key, keyed, before?.runId ?? null)))
        throw new HolderChangedError();
      if (sharedKey !== null) await this.keys.holdAsNewest(tx, run.slot_key, sharedKey, keyed);
      const principal: PrincipalRef = { type: run.creator_type, uid: run.creator_uid };
      if (before !== null && policy === 'supersede' && isActive)
        await this.runs.cancelIn(tx, before.runId, holder, principal, `Cancelled: the run ${run.id} replaces it.`);
      return { kind: 'created', runId: run.id, state: 'QUEUED', ...inserted };
    });
    return result ?? (claim && (await this.inserts.find(claim)));
  }
}
