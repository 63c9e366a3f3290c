import { Injectable } from '@nestjs/common';
import { PLACE_RUNS_TASK, type PrincipalRef, slotKey } from '#execution/executions';
import { BackgroundTasks } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { Database, type Transaction } from '#platform/persistence';
import {
  type ActiveRun,
  ConcurrencyStore,
  type KeyedEvent,
  type QueuePosition,
  type ReleaseStep,
  type RunDelay,
} from '../persistence/concurrency.store.js';
import { type KeyedRun, type NewRun, RunInserts, type ScopedClaim } from '../persistence/run-inserts.js';
import { RunsService } from './runs.service.js';

/**
 * What happens to the other runs with the same key. `allow`: nothing. `skip`: no run is created while one is active.
 * `supersede`: the active ones are cancelled, or no run is created if the newest one is for a newer event. `continue`: no run is
 * created; the caller sends the newest one a message. `queue`: nothing. `debounce`: a newer run that is created within `delayMs`
 * replaces the new one. With each policy but `allow` the new run waits until the others have ended.
 */
export type ConcurrencyPolicy = 'allow' | 'skip' | 'supersede' | 'continue' | 'queue' | 'debounce';

export interface RunConcurrency {
  /** Unique among the runs of the owner, at most 500 characters. */
  readonly key: string;
  readonly policy: ConcurrencyPolicy;
  /** Another key that the run holds without a policy. */
  readonly sharedKey: string | null;
  /** When that happened which the run is for. Null: now, and after all other runs of the key. */
  readonly eventAt: Date | null;
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
interface Others {
  readonly kind: 'decided';
  readonly replaced: readonly ActiveRun[];
  /** When the first of the runs was created that replaced each other. */
  readonly heldSince: Date | null;
}
const NO_OTHERS: Others = { kind: 'decided', replaced: [], heldSince: null };
/** More of them wait until they are the first ones of the queue. */
const MAX_REPLACED = 1000;
/** Keys that are visited in one round trip. */
const RELEASED_KEYS = 200;
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

function delayOf({ policy, delayMs = 0 }: RunConcurrency, since: Date | null): RunDelay | null {
  return policy === 'debounce' ? { delayMs, maxDelayMs: MAX_DELAYS * delayMs, since } : null;
}

/** Creates runs that are not to be active together with others. */
@Injectable()
export class ConcurrentRuns {
  constructor(
    private readonly database: Database,
    private readonly keys: ConcurrencyStore,
    private readonly inserts: RunInserts,
    private readonly runs: RunsService,
    private readonly tasks: BackgroundTasks,
    private readonly clock: Clock,
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
    concurrency: RunConcurrency,
  ): Promise<ConcurrentRun | null> {
    const { key, policy, sharedKey } = concurrency;
    const place = { slotKey: run.slot_key, key };
    const result = await this.database.transaction(async (tx): Promise<ConcurrentRun | null> => {
      const before = policy === 'allow' ? null : await this.keys.lock(tx, run.slot_key, key);
      // An earlier attempt for the same event may have ended after the caller had looked for its run.
      if (before !== null && claim && (await this.inserts.find(claim, tx))) return null;
      const now = this.clock.now();
      // Requests have the order in which they get the lock, whatever the clocks of their processes say.
      const eventAt = concurrency.eventAt ?? (before !== null && before.eventAt > now ? before.eventAt : now);
      const others = before === null ? NO_OTHERS : await this.decide(tx, place, before, { ...concurrency, eventAt });
      if (others.kind === 'concurrent') return others;
      const inserted = await this.inserts.insertIn(tx, run, claim);
      if (!inserted) return null;
      const keyed = { runId: run.id, eventAt };
      if (policy === 'allow') await this.keys.holdAsNewest(tx, run.slot_key, key, keyed);
      else if (!(await this.keys.hold(tx, run.slot_key, key, keyed, before?.runId ?? null)))
        throw new HolderChangedError();
      if (sharedKey !== null) await this.keys.holdAsNewest(tx, run.slot_key, sharedKey, keyed);
      const principal: PrincipalRef = { type: run.creator_type, uid: run.creator_uid };
      const isBusy = new Set<string>();
      for (const replaced of others.replaced)
        if (!(await this.cancel(tx, replaced, run.id, principal))) isBusy.add(replaced.runId);
      if (policy !== 'allow')
        await this.keys.enqueue(tx, place, run.id, {
          before: before?.runId ?? null,
          delay: delayOf(concurrency, others.heldSince),
        });
      for (const runId of isBusy) await this.keys.replace(tx, runId, run.id);
      return { kind: 'created', runId: run.id, state: 'QUEUED', ...inserted };
    });
    return result ?? (claim && (await this.inserts.find(claim)));
  }

  /** False: its state does not allow it at this moment. */
  private async cancel(
    tx: Transaction,
    { runId, isHeld, ...kind }: ActiveRun,
    replacedBy: string,
    principal: PrincipalRef,
  ): Promise<boolean> {
    // No worker has a run that is held.
    const message = `Cancelled: the run ${replacedBy} replaces it.`;
    return (await this.runs.cancelIn(tx, runId, isHeld ? null : kind, principal, message)).kind !== 'busy';
  }

  /** What happens to the other runs of the key. `before`: the newest one, which is locked. */
  private async decide(
    tx: Transaction,
    place: QueuePosition,
    before: KeyedEvent,
    { policy, eventAt, replaces = null }: RunConcurrency & { readonly eventAt: Date },
  ): Promise<Concurrent | Others> {
    const concurrent: Concurrent = { kind: 'concurrent', runId: before.runId };
    const isOlder = before.eventAt > eventAt;
    switch (policy) {
      case 'continue':
        return before.runId === replaces ? NO_OTHERS : concurrent;
      case 'skip': {
        const [active] = await this.keys.findActive(tx, place, before.runId, 1);
        return active ? { kind: 'concurrent', runId: active.runId } : NO_OTHERS;
      }
      case 'supersede':
        if (isOlder) return concurrent;
        return { ...NO_OTHERS, replaced: await this.keys.findActive(tx, place, before.runId, MAX_REPLACED) };
      case 'debounce': {
        const delayed = await this.keys.lockDelayed(tx, before.runId);
        if (delayed === null) return NO_OTHERS;
        if (isOlder) return concurrent;
        const [held] = await this.keys.findActive(tx, place, before.runId, 1);
        return { ...NO_OTHERS, replaced: held ? [held] : [], heldSince: delayed.heldSince };
      }
      case 'allow':
      case 'queue':
        return NO_OTHERS;
    }
  }

  /** Cancels replaced runs, and lets the runs be placed that have waited for earlier runs of their key or for later events. */
  async releaseHeld(signal: AbortSignal): Promise<void> {
    for (const { replacedBy, principal, ...replaced } of await this.keys.findReplaced(this.database, MAX_REPLACED))
      if (!signal.aborted) await this.database.transaction((tx) => this.cancel(tx, replaced, replacedBy, principal));
    let released = 0;
    for (let next: QueuePosition | null = FIRST; next !== null && !signal.aborted;) {
      const step: ReleaseStep = await this.keys.release(this.database, next, RELEASED_KEYS);
      released += step.released;
      next = step.next;
    }
    if (released > 0) this.tasks.wake(PLACE_RUNS_TASK);
  }
}
