import type { Commands, Desired } from '#execution/runner-protocol';
import { retry, sleep } from '../retry.js';
import { againUnless, type ControlPlane } from './control-plane.js';

/** Part of the lease that may pass without a response: the runner stops before the server ends the lease. */
const USABLE_SHARE = 8 / 9;

/** Counts on the monotonic clock from when a successful request was *sent*: the server renews the lease after that. */
export class Lease {
  /** Milliseconds. */
  ttl = 0;
  private lastOk = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onExpired: () => void) {}

  /** @param sentAt `performance.now()` from just before the request went out. */
  start(ttlSeconds: number, sentAt: number): void {
    this.ttl = ttlSeconds * 1000;
    this.lastOk = sentAt;
    this.arm();
  }

  renewed(sentAt: number): void {
    this.lastOk = Math.max(this.lastOk, sentAt);
  }

  setTtl(ttlSeconds: number): void {
    if (ttlSeconds * 1000 === this.ttl) return;
    this.ttl = ttlSeconds * 1000;
    if (this.timer !== undefined) this.arm();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(): void {
    clearTimeout(this.timer);
    const remaining = this.lastOk + this.ttl * USABLE_SHARE - performance.now();
    this.timer = setTimeout(
      () => {
        // Renewals do not change the timer; when it fires early it is set again for the remaining time.
        if (performance.now() >= this.lastOk + this.ttl * USABLE_SHARE) this.onExpired();
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
  readonly heartbeatsPerLease?: number | undefined;
}

const COMMANDS_WAIT_SECONDS = 25;

/** Renews the lease every `next_beat_seconds` ± 20 %, sooner after a failure. */
export function heartbeatLoop(firstSeconds: number, options: LoopOptions): Promise<void> {
  const { plane, lease, onDesired, signal, heartbeatsPerLease } = options;
  const mostMs = (): number => (heartbeatsPerLease === undefined ? Infinity : lease.ttl / heartbeatsPerLease);
  const pause = (seconds: number): Promise<void> =>
    sleep(Math.min(seconds * 1000, mostMs()) * (0.8 + Math.random() * 0.4), signal);
  return untilAborted(options, async () => {
    for (let seconds = firstSeconds; ;) {
      await pause(seconds);
      if (signal.aborted) return;
      const firstMs = Math.min(200, lease.ttl / 20);
      const maxMs = Math.min(5_000, lease.ttl / 6, mostMs() / 3);
      // A request that hangs in a dead connection must not use up the remaining lease.
      const beat = () => plane.heartbeat(Math.max(500, Math.min(lease.ttl / 3, mostMs())));
      const ack = await retry(beat, { firstMs, maxMs, signal, again: againUnless(signal) });
      lease.setTtl(ack.ttl_seconds);
      onDesired(ack.desired);
      seconds = ack.next_beat_seconds;
    }
  });
}

/** `knownVersion`: that of the commands that the runner has. */
export function commandLoop(knownVersion: number, options: LoopOptions): Promise<void> {
  const { plane, onDesired, onCommands, signal } = options;
  return untilAborted(options, async () => {
    for (let version = knownVersion; !signal.aborted;) {
      const read = () => plane.commands(version, COMMANDS_WAIT_SECONDS);
      const commands = await retry(read, { firstMs: 200, maxMs: 3_000, signal, again: againUnless(signal) });
      if (signal.aborted) return;
      if (commands === null) continue;
      // A server that returns a known version at once must not cause a busy loop.
      if (commands.version === version) await sleep(250, signal);
      version = commands.version;
      onCommands(commands);
      onDesired(commands.desired);
    }
  });
}

async function untilAborted({ onFailure, signal }: LoopOptions, loop: () => Promise<void>): Promise<void> {
  try {
    await loop();
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  }
}
