import type { Commands, Desired } from '#execution/runner-protocol';
import { backoffMs, sleep } from '../sleep.js';
import { NoResponseError, type ControlPlane } from './control-plane.js';

/** How much of the lease may pass without a sign of the control plane: the runner gives up before the server does. */
const USABLE_SHARE = 8 / 9;

/**
 * The runner's side of the lease, on the monotonic clock. What counts is when a successful request was *sent*:
 * the server may have renewed the lease at any moment after that, never before.
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
        // Renewals do not touch the timer; when it fires early it is set again for what is left.
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
  /** The lease is lost, or the control plane refuses us. */
  readonly onFailure: (error: unknown) => void;
  /** Ends the loops. */
  readonly signal: AbortSignal;
  /** Beats at least so often within a lease; a cut of the network then leaves most of it. */
  readonly heartbeatsPerLease?: number;
}

const COMMANDS_WAIT_SECONDS = 25;

/** Renews the lease every `next_beat_seconds` ± 20 %; after a failure sooner. */
export async function heartbeatLoop(firstSeconds: number, options: LoopOptions): Promise<void> {
  const { plane, lease, onDesired, onFailure, signal, heartbeatsPerLease } = options;
  const mostMs = (): number => (heartbeatsPerLease === undefined ? Infinity : lease.ttl / heartbeatsPerLease);
  let waitMs = Math.min(firstSeconds * 1000, mostMs()) * jitter();
  for (let failures = 0; ;) {
    await sleep(waitMs, signal);
    if (signal.aborted) return;
    try {
      // A request that hangs in a dead connection must not take the time that a cut has left.
      const ack = await plane.beat(Math.max(500, Math.min(lease.ttl / 3, mostMs())));
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

/** Asks for commands again and again; the server holds each question until there is something new. */
export async function commandLoop(options: LoopOptions): Promise<void> {
  const { plane, onDesired, onCommands, onFailure, signal } = options;
  let version = 0;
  for (let failures = 0; !signal.aborted;) {
    try {
      const commands = await plane.commands(version, COMMANDS_WAIT_SECONDS);
      failures = 0;
      if (signal.aborted) return;
      if (commands === null) continue;
      // A server that answers at once with what we know already must not become a busy loop.
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
