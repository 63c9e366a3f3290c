import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Queryable } from '#platform/persistence';
import { type Cron, parseCron, type ParsedCron } from '../domain/cron/index.js';
import { decideDue, type DueDecision, type Outage } from '../domain/due-decision.js';
import { jitterOf } from '../domain/jitter.js';
import { type Timer, TimersStore } from '../persistence/timers.store.js';
import { LAP_MS } from './firing-limits.js';
import { TimerSteps } from './timer-steps.js';
import type { TimerHandler, TimerOutcome } from './timer-handler.js';
import { TimerHandlers } from './timer-handlers.js';

/** Timers of one lap: whoever changes one of them waits for the lap. */
const TIMERS_AT_ONCE = 128;
/** After a fault. */
const AGAIN_MS = 10_000;
const UNREADABLE_MS = 60_000;
const MAX_PARSED = 10_000;

interface Decided extends DueDecision {
  readonly timer: Timer;
  readonly cron: Cron;
}

/**
 * Fires the timers whose time has come. A timer is moved on in the transaction that holds its row, after what it starts
 * has been committed under a key of the timer and its due time: a crash in between fires it again, and starts nothing new.
 */
@Injectable()
export class FireTimers {
  private readonly logger = new Logger(FireTimers.name);
  private readonly parsed = new Map<string, ParsedCron>();

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly store: TimersStore,
    private readonly handlers: TimerHandlers,
    private readonly steps: TimerSteps,
  ) {}

  /** Fires at most one due time each of at most 128 timers, of one kind; returns how many timers there were. */
  async execute(): Promise<number> {
    // First of all: an outage has to be known before its due times are decided on.
    await this.store.beat();
    return this.database.transaction(async (tx) => {
      const { now, timers: claimed } = await this.store.claim(tx, this.handlers.kinds(), TIMERS_AT_ONCE);
      // What one kind has written is not held while another takes its time; the others are there for the next lap.
      const timers = claimed.filter(({ kind }) => kind === claimed[0]?.kind);
      const [earliest] = [...timers].sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime());
      if (earliest === undefined) return 0;
      this.steps.reached('claimed');
      const outages = await this.store.outages(tx, earliest.dueAt);
      const decided = timers.flatMap((timer) => this.decide(timer, now, outages));
      await this.putOffUnreadable(tx, timers, decided, now);
      const handler = this.handlers.find(earliest.kind);
      if (handler && decided.length > 0) await this.fire(tx, handler, decided, now);
      this.steps.reached('moved');
      return timers.length;
    });
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

  /** Expressions come back with every due time. */
  private parse({ cron, timezone }: Timer): ParsedCron {
    const key = `${timezone} ${cron}`;
    const known = this.parsed.get(key);
    if (known) return known;
    const parsed = parseCron(cron, timezone);
    if (this.parsed.size >= MAX_PARSED) this.parsed.clear();
    this.parsed.set(key, parsed);
    return parsed;
  }

  private async fire(tx: Queryable, handler: TimerHandler, decided: readonly Decided[], now: Date): Promise<void> {
    const due = decided.map(({ timer: { key }, fire, missed }) => ({ key, fire, missed }));
    const outcomes = await handler.fire(tx, due, AbortSignal.timeout(LAP_MS));
    this.steps.reached('fired');
    const outcomeOf = (index: number): TimerOutcome => outcomes[index] ?? 'again';
    await this.store.move(
      tx,
      decided.flatMap(({ timer, next }, index) => {
        if (outcomeOf(index) === 'again')
          return [{ ...timer, fireAt: new Date(Math.max(now.getTime(), timer.fireAt.getTime()) + AGAIN_MS) }];
        return outcomeOf(index) === 'done' && next !== null ? [moved(timer, next)] : [];
      }),
    );
    const over = decided.filter(
      ({ next }, index) => outcomeOf(index) === 'gone' || (outcomeOf(index) === 'done' && next === null),
    );
    await this.store.remove(
      tx,
      handler.kind,
      over.map(({ timer }) => timer.key),
    );
  }

  /** Written by a version, or on a Node.js, that knew more; perhaps another process does, too. */
  private async putOffUnreadable(
    tx: Queryable,
    timers: readonly Timer[],
    decided: readonly Decided[],
    now: Date,
  ): Promise<void> {
    const unreadable = timers.filter((timer) => !decided.some((one) => one.timer === timer));
    for (const { kind, key } of unreadable)
      this.logger.error(`The timer ${kind}/${key} has an expression or a time zone that cannot be read here.`);
    const fireAt = new Date(now.getTime() + UNREADABLE_MS);
    await this.store.move(
      tx,
      unreadable.map((timer) => ({ ...timer, fireAt })),
    );
  }

  /** Says that somebody looks for due timers, while a lap takes long too. */
  beat(): Promise<void> {
    return this.store.beat();
  }
}

const moved = (timer: Timer, dueAt: Date) => ({
  kind: timer.kind,
  key: timer.key,
  dueAt,
  fireAt: new Date(dueAt.getTime() + jitterOf(timer.key, dueAt, timer.jitterSeconds)),
});
