import { Injectable } from '@nestjs/common';
import { isEnded, PLACE_RUNS_TASK, type PrincipalRef, slotKey } from '#execution/executions';
import { BackgroundTasks } from '#platform/jobs';
import { Database } from '#platform/persistence';
import { ConcurrencyStore, type QueuePosition } from '../persistence/concurrency.store.js';
import { type KeyedRun, type NewRun, RunInserts, type ScopedClaim } from '../persistence/run-inserts.js';
import { RunsService } from './runs.service.js';

/**
 * What happens to the newest run with the same key. `allow`: nothing. `skip`: no run is created while it is active.
 * `supersede`: it is cancelled, or no run is created if it is for a newer event. `continue`: no run is created; the caller
 * sends it a message. `queue`: the new run waits until all earlier ones have ended. `debounce`: so it does, and for `delayMs`;
 * a newer one that is created meanwhile replaces it.
 */
export type ConcurrencyPolicy = 'allow' | 'skip' | 'supersede' | 'continue' | 'queue' | 'debounce';

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
  /** With `debounce`. Milliseconds. */
  readonly delayMs?: number;
}

/** Another run prevents a new one. */
export interface Concurrent {
  readonly kind: 'concurrent';
  readonly runId: string;
}
export type ConcurrentRun = KeyedRun | Concurrent;

const MAX_ATTEMPTS = 5;
/** Events that never stop do not delay a run for longer. */
export const MAX_DELAYS = 10;
export const DEFAULT_DELAY_SECONDS = 60;
/** A day. */
export const MAX_DELAY_SECONDS = 86_400;
/** Keys that are visited in one round trip. */
const RELEASED_KEYS = 500;
const FIRST: QueuePosition = { slotKey: '', key: '' };
/** Another transaction has created the first run of the key. */
class HolderChangedError extends Error {}

/**
 * With the policy `continue`: creates a run unless there is one that can be continued. `replaces`: a run that the caller has tried
 * to continue before. `continueRun` returns null when the run cannot be continued.
 */
export async function continueOrCreate<Result extends { readonly kind: string }>(
  replaces: string | null,
  create: (replaces: string | null) => Promise<Result | Concurrent>,
  continueRun: (runId: string) => Promise<Result | null>,
): Promise<Result> {
  let replaced = replaces;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const created = await create(replaced);
    if (!isConcurrent(created)) return created;
    const continued = await continueRun(created.runId);
    if (continued) return continued;
    // Another request may replace it at the same time; then the run for that one is continued.
    replaced = created.runId;
  }
  throw new Error(`None of ${MAX_ATTEMPTS} runs that replaced each other could be continued.`);
}

const isConcurrent = (result: { readonly kind: string }): result is Concurrent => result.kind === 'concurrent';

/** Creates runs that are not to be active together with others. */
@Injectable()
export class ConcurrentRuns {
  constructor(
    private readonly database: Database,
    private readonly keys: ConcurrencyStore,
    private readonly inserts: RunInserts,
    private readonly runs: RunsService,
    private readonly tasks: BackgroundTasks,
  ) {}

  /** Whether a run of the team was created with the key. One round trip. */
  hasRun(teamUid: string, key: string): Promise<boolean> {
    return this.keys.exists(this.database, slotKey({ teamUid, userUid: null }), key);
  }

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
    { key, policy, sharedKey, eventAt, replaces = null, delayMs = 0 }: RunConcurrency,
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
      const delayed = before !== null && policy === 'debounce' ? await this.keys.lockDelayed(tx, before.runId) : null;
      const isReplaced = policy === 'supersede' || delayed !== null;
      if (before !== null && (policy === 'skip' ? isActive : isReplaced && before.eventAt > eventAt))
        return { kind: 'concurrent', runId: before.runId };
      const inserted = await this.inserts.insertIn(tx, run, claim);
      if (!inserted) return null;
      if (policy === 'allow') await this.keys.holdAsNewest(tx, run.slot_key, key, keyed);
      else if (!(await this.keys.hold(tx, run.slot_key, key, keyed, before?.runId ?? null)))
        throw new HolderChangedError();
      if (sharedKey !== null) await this.keys.holdAsNewest(tx, run.slot_key, sharedKey, keyed);
      const principal: PrincipalRef = { type: run.creator_type, uid: run.creator_uid };
      if (before !== null && isReplaced && isActive)
        await this.runs.cancelIn(
          tx,
          before.runId,
          delayed === null ? holder : null,
          principal,
          `Cancelled: the run ${run.id} replaces it.`,
        );
      if (policy === 'queue' || policy === 'debounce')
        await this.keys.enqueue(tx, { slotKey: run.slot_key, key }, run.id, {
          before: before?.runId ?? null,
          delay:
            policy === 'queue'
              ? null
              : { delayMs, maxDelayMs: MAX_DELAYS * delayMs, since: delayed?.heldSince ?? null },
        });
      return { kind: 'created', runId: run.id, state: 'QUEUED', ...inserted };
    });
    return result ?? (claim && (await this.inserts.find(claim)));
  }

  /** Lets the runs be placed that have waited for earlier runs of their key or for later events. */
  async releaseHeld(signal: AbortSignal): Promise<void> {
    let released = 0;
    for (let next: QueuePosition | null = FIRST; next !== null && !signal.aborted;) {
      const position: QueuePosition = next;
      const step = await this.database.transaction((tx) => this.keys.release(tx, position, RELEASED_KEYS));
      released += step.released;
      next = step.next;
    }
    if (released > 0) this.tasks.wake(PLACE_RUNS_TASK);
  }
}
