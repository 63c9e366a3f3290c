/** Notifications that something waits for a runner; the payload is the execution's id. */
export const COMMANDS_CHANNEL = 'headrace_commands';
/** A run with a parent has ended; the payload is its id. See notify_child_run_end.sql. */
export const RUN_ENDS_CHANNEL = 'headrace_run_ends';

/** A run of a self-hosted worker waits: `<team uid> <worker host>`. */
export const WORKER_RUNS_CHANNEL = 'headrace_worker_runs';
/** An offer waits for the process that holds the connection; the payload is the connection's id. */
export const WORKER_OFFERS_CHANNEL = 'headrace_worker_offers';
/** A worker is to stop an execution, or it was given up: `<connection id> <run id> <execution id>`. */
export const WORKER_STOPS_CHANNEL = 'headrace_worker_stops';

/** Offers of one run that may fail before it is given up. */
export const MAX_OFFERS = 5;

/** An execution that was commanded to stop is fenced after this time, even while its runner reports. */
export const STOP_FENCE_MS = 60_000;

/**
 * A runner stops its agent when it has had no answer for 8/9 of the lease time; the server gives the execution up at
 * 4/3 of it. Never equal, so that nothing runs on when the run is declared lost.
 */
export function leaseGraceMs(leaseTtlMs: number): number {
  return Math.round((leaseTtlMs * 4) / 3);
}

/**
 * How long an execution on a self-hosted worker lives after a sign of life of its connection or a call of its runner. The
 * signs are noted every few seconds and the sweeper looks as often: the whole stays within 4/3 of the lease time.
 */
export function workerGraceMs(leaseTtlMs: number): number {
  return Math.round((leaseTtlMs * 10) / 9);
}

export const leaseTimes = (leaseTtlMs: number) => ({
  ttl_seconds: leaseTtlMs / 1000,
  next_beat_seconds: leaseTtlMs / 3000,
});

/** How often the sweeper looks, so that the whole stays within lease time + 30 % + 2 s. */
export function sweepIntervalMs(leaseTtlMs: number): number {
  return Math.min(5000, Math.max(200, Math.round(leaseTtlMs / 6)));
}

/** Executions of one run, in all, when its configuration says to try again after a lost worker. */
export const MAX_ATTEMPTS = 3;
