import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { maxEntries } from '#platform/kernel';
import { Metrics } from '#platform/observability';
import { Database, type Queryable, type Transaction } from '#platform/persistence';
import type { Cron } from './domain/cron/croner-cron.js';
import { parseCron, type ParsedCron } from './domain/cron/parse-cron.js';
import { decideDue, type DueDecision, jitterOf, type Outage } from './domain/due-decision.js';
import { type TimerHandler, TimerHandlers, type TimerOutcome } from './timer-handlers.js';
import { type Timer, TimersStore } from './timers.store.js';

/** Timers of one transaction, for which every change of one of them waits. */
const BATCH_SIZE = 128;
/**
 * How long a batch begins work. Its transaction has to end long before the database ends it for being idle, and before a
 * request that waits for one of its timers, such as the pause of a schedule, times out.
 */
const BATCH_TIMEOUT_MS = 5_000;
const RETRY_DELAY_MS = 10_000;
const UNREADABLE_DELAY_MS = 60_000;
const MAX_PARSED = 10_000;

/** The points at which the firing of due timers can be interrupted, in their order. */
export const TIMER_STEPS = ['claimed', 'launched', 'fired', 'moved'] as const;
export type TimerStep = (typeof TIMER_STEPS)[number];

/** Called at every step. Does nothing outside of tests, which end the process at one of them. */
@Injectable()
export class TimerSteps {
  reached(_step: TimerStep): void {
    // Tests replace this method.
  }
}

interface Decided extends DueDecision {
  readonly timer: Timer;
  readonly cron: Cron;
}

/**
 * Fires the timers that are due. A timer is moved to its next due time in the transaction that holds its row, after what it
 * starts has been committed under a key of the timer and its due time: a crash in between fires it again, and starts nothing new.
 */
@Injectable()
export class TimerDispatcher {
  private readonly logger = new Logger(TimerDispatcher.name);
  private readonly firings;
  private readonly parsed = new LRUCache<string, ParsedCron>(maxEntries(MAX_PARSED));

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly store: TimersStore,
    private readonly handlers: TimerHandlers,
    private readonly steps: TimerSteps,
    metrics: Metrics,
  ) {
    this.firings = metrics.counter(
      'headrace_timer_firings_total',
      'Due times that were handled, by kind of timer. retry: a fault; the due time is handled again.',
      ['kind', 'outcome'],
    );
    metrics.observed(
      'headrace_timer_lag_seconds',
      'Time since the oldest due time that is not handled yet; 0 without one.',
      () => store.lagSeconds(),
    );
  }

  /** Fires at most one due time of each of at most 128 timers of one kind; returns the number of timers. */
  async dispatchDue(): Promise<number> {
    // 1. Before anything else: an outage has to be recorded before its due times are decided on.
    await this.store.recordHeartbeat();
    return this.database.transaction(async (tx) => {
      // 2. Hold the rows. Of one kind only: what one kind has written is not locked while another kind runs.
      const { now, timers: claimed } = await this.store.claim(tx, this.handlers.kinds(), BATCH_SIZE);
      const timers = claimed.filter(({ kind }) => kind === claimed[0]?.kind);
      const [earliest] = [...timers].sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime());
      if (earliest === undefined) return 0;
      this.steps.reached('claimed');
      // 3. Decide which due time each timer fires for, and which ones are missed.
      const outages = await this.store.outages(tx, earliest.dueAt);
      const decided = timers.flatMap((timer) => this.decide(timer, now, outages));
      await this.postponeUnreadable(tx, timers, decided, now);
      // 4. Fire, then move the timers, in this order: see the class.
      const handler = this.handlers.find(earliest.kind);
      if (handler && decided.length > 0) await this.fire(tx, handler, decided, now);
      this.steps.reached('moved');
      return timers.length;
    });
  }

  /** Records that a process looks for due timers; also called while a batch takes long. */
  recordHeartbeat(): Promise<void> {
    return this.store.recordHeartbeat();
  }

  private decide(timer: Timer, now: Date, outages: readonly Outage[]): Decided[] {
    const parsed = this.parse(timer);
    if (parsed.kind === 'invalid') return [];
    const { cron } = parsed;
    const jitterMs = jitterOf(timer.key, timer.dueAt, timer.jitterSeconds);
    const { scheduleCatchUpWindow: catchUpMs } = this.settings;
    const decision = decideDue(cron, timer.dueAt, jitterMs, { now, outages, catchUpMs });
    return [{ ...decision, timer, cron }];
  }

  /** Cached: the same expressions are parsed for every due time. */
  private parse({ cron, timezone }: Timer): ParsedCron {
    const key = `${timezone} ${cron}`;
    const known = this.parsed.get(key);
    if (known) return known;
    const parsed = parseCron(cron, timezone);
    this.parsed.set(key, parsed);
    return parsed;
  }

  private async fire(tx: Transaction, handler: TimerHandler, decided: readonly Decided[], now: Date): Promise<void> {
    const due = decided.map(({ timer: { key }, fire, missed }) => ({ key, fire, missed }));
    const outcomes = await handler.fire(tx, due, AbortSignal.timeout(BATCH_TIMEOUT_MS));
    this.steps.reached('fired');
    // A due time whose transaction fails is handled again.
    tx.afterCommit(() => {
      for (const outcome of outcomes) this.firings.inc({ kind: handler.kind, outcome });
    });
    const outcomeOf = (index: number): TimerOutcome => outcomes[index] ?? 'retry';
    await this.store.move(
      tx,
      decided.flatMap(({ timer, next }, index) => {
        if (outcomeOf(index) === 'retry')
          return [{ ...timer, fireAt: new Date(Math.max(now.getTime(), timer.fireAt.getTime()) + RETRY_DELAY_MS) }];
        return outcomeOf(index) === 'done' && next !== null ? [moved(timer, next)] : [];
      }),
    );
    const over = decided.filter(
      ({ next }, index) => outcomeOf(index) === 'remove' || (outcomeOf(index) === 'done' && next === null),
    );
    await this.store.remove(
      tx,
      handler.kind,
      over.map(({ timer }) => timer.key),
    );
  }

  /** A newer version, or a newer Node.js, has written them; a process that can read them may be running too. */
  private async postponeUnreadable(
    tx: Queryable,
    timers: readonly Timer[],
    decided: readonly Decided[],
    now: Date,
  ): Promise<void> {
    const unreadable = timers.filter((timer) => !decided.some((one) => one.timer === timer));
    for (const { kind, key } of unreadable)
      this.logger.error(`The timer ${kind}/${key} has an expression or a time zone that this process cannot read.`);
    const fireAt = new Date(now.getTime() + UNREADABLE_DELAY_MS);
    await this.store.move(
      tx,
      unreadable.map((timer) => ({ ...timer, fireAt })),
    );
  }
}

const moved = (timer: Timer, dueAt: Date) => ({
  kind: timer.kind,
  key: timer.key,
  dueAt,
  fireAt: new Date(dueAt.getTime() + jitterOf(timer.key, dueAt, timer.jitterSeconds)),
});
