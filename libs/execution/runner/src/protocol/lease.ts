import type { Commands, Desired } from '#execution/runner-protocol';
import { backoffMs, sleep } from '../sleep.js';
import { NoResponseError, type ControlPlane } from './control-plane.js';

/** Part of the lease that may pass without a response: the runner stops before the server ends the lease. */
const USABLE_SHARE = 8 / 9;

/**
 * The runner's view of the lease, on the monotonic clock. It counts from when a successful request was *sent*: the
 * server renewed the lease at some moment after that, never before.
 */
export class Lease {
  private ttlMs = 0;
  private lastOk = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onExpired: () => void) {}

  /** @param sentAt `performance.now()` from just before the request went out. */
  start(ttlSeconds: number, sentAt: number): void {
    this.ttlMs = ttlSeconds * 1000;
    this.lastOk = sentAt;
    this.arm();
  }

  renewed(sentAt: number): void {
    this.lastOk = Math.max(this.lastOk, sentAt);
  }

  setTtl(ttlSeconds: number): void {
    if (ttlSeconds * 1000 === this.ttlMs) return;
    this.ttlMs = ttlSeconds * 1000;
    if (this.timer !== undefined) this.arm();
  }

  get ttl(): number {
    return this.ttlMs;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(): void {
    clearTimeout(this.timer);
    const remaining = this.lastOk + this.ttlMs * USABLE_SHARE - performance.now();
    this.timer = setTimeout(
      () => {
        // Renewals do not change the timer; when it fires early it is set again for the remaining time.
        if (performance.now() >= this.lastOk + this.ttlMs * USABLE_SHARE) this.onExpired();
        else this.arm();
      },
      Math.max(1, Math.ceil(remaining)),
    );
  }
}

export interface LoopOptions {
  readonly plane: ControlPlane;
  readonly lease: Lease;
  readonly onDesired: (desired: Desired) => void;
  readonly onCommands: (commands: Commands) => void;
  /** The lease is lost, or the control plane rejects a request. */
  readonly onFailure: (error: unknown) => void;
  readonly signal: AbortSignal;
  /** Minimum number of heartbeats per lease, so that most of the lease is left after a network failure. */
  readonly heartbeatsPerLease?: number;
}

const COMMANDS_WAIT_SECONDS = 25;

/** Renews the lease every `next_beat_seconds` ± 20 %, sooner after a failure. */
export async function heartbeatLoop(firstSeconds: number, options: LoopOptions): Promise<void> {
  const { plane, lease, onDesired, onFailure, signal, heartbeatsPerLease } = options;
  const mostMs = (): number => (heartbeatsPerLease === undefined ? Infinity : lease.ttl / heartbeatsPerLease);
  let waitMs = Math.min(firstSeconds * 1000, mostMs()) * jitter();
  for (let failures = 0; ;) {
    await sleep(waitMs, signal);
    if (signal.aborted) return;
    try {
      // A request that hangs in a dead connection must not use up the remaining lease.
      const ack = await plane.heartbeat(Math.max(500, Math.min(lease.ttl / 3, mostMs())));
      failures = 0;
      lease.setTtl(ack.ttl_seconds);
      onDesired(ack.desired);
      waitMs = Math.min(ack.next_beat_seconds * 1000, mostMs()) * jitter();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof NoResponseError)) return onFailure(error);
      waitMs = backoffMs(failures, Math.min(200, lease.ttl / 20), Math.min(5_000, lease.ttl / 6, mostMs() / 3));
      failures += 1;
    }
  }
}

export async function commandLoop(options: LoopOptions): Promise<void> {
  const { plane, onDesired, onCommands, onFailure, signal } = options;
  let version = 0;
  for (let failures = 0; !signal.aborted;) {
    try {
      const commands = await plane.commands(version, COMMANDS_WAIT_SECONDS);
      failures = 0;
      if (signal.aborted) return;
      if (commands === null) continue;
      // A server that returns a known version at once must not cause a busy loop.
      if (commands.version === version) await sleep(250, signal);
      version = commands.version;
      onCommands(commands);
      onDesired(commands.desired);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof NoResponseError)) return onFailure(error);
      await sleep(backoffMs(failures, 200, 3_000), signal);
      failures += 1;
    }
  }
}

const jitter = (): number => 0.8 + Math.random() * 0.4;
