import { createHash } from 'node:crypto';
import type { Cron } from './cron/croner-cron.js';

/** A time in which no process looked for due timers: after `from`, up to `until`. */
export interface Outage {
  readonly from: Date;
  readonly until: Date;
}

export interface DueDecision {
  /** The due time to fire for now; null when nothing is to be started. */
  readonly fire: Date | null;
  /** The first and the last of the due times that are missed: nothing is started for them. */
  readonly missed: { readonly first: Date; readonly last: Date } | null;
  /** The due time to wait for next; one in the past is decided on at once. Null: there is none. */
  readonly next: Date | null;
}

/**
 * Decides on a timer that waits for `dueAt`, which is not after `now`. Of the due times within an outage only the latest one is
 * fired; outside of an outage every due time is fired, however late. Due times older than `catchUpMs` are missed. `jitterMs`: how
 * much later than its due time the timer fires.
 */
export function decideDue(
  cron: Cron,
  dueAt: Date,
  jitterMs: number,
  { now, outages, catchUpMs }: { readonly now: Date; readonly outages: readonly Outage[]; readonly catchUpMs: number },
): DueDecision {
  const outage = outages.find(({ from, until }) => from < dueAt && dueAt <= until);
  const candidate = (outage && cron.latest(dueAt, outage.until)) ?? dueAt;
  const oldest = new Date(now.getTime() - catchUpMs - jitterMs);
  if (candidate < oldest) {
    const last = cron.latest(candidate, new Date(oldest.getTime() - 1)) ?? candidate;
    return { fire: null, missed: { first: dueAt, last }, next: cron.next(last) };
  }
  return { fire: candidate, missed: missedBefore(cron, dueAt, candidate), next: cron.next(candidate) };
}

function missedBefore(cron: Cron, dueAt: Date, candidate: Date): DueDecision['missed'] {
  if (candidate <= dueAt) return null;
  return { first: dueAt, last: cron.latest(dueAt, new Date(candidate.getTime() - 1)) ?? dueAt };
}

/** Milliseconds from 0 to `jitterSeconds`, distributed evenly over timers and due times; always the same for the same pair. */
export function jitterOf(key: string, dueAt: Date, jitterSeconds: number): number {
  if (jitterSeconds === 0) return 0;
  const hash = createHash('sha256').update(`${key} ${dueAt.toISOString()}`).digest().readUInt32BE(0);
  return Math.floor((hash / 2 ** 32) * jitterSeconds * 1000);
}
