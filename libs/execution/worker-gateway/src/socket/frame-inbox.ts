import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable } from '#platform/persistence';
import type { KeyedSemaphore } from '#platform/kernel';

/** Waiting frames at which reading from the socket is paused. */
const FULL = 128;
const RESUME_BELOW = 32;
/**
 * How long frames are retried after their connection was closed while the database is unavailable: longer than a lease, after which they have no
 * effect. Frames of an open connection are retried until they are handled: an open connection keeps the leases of its worker, which
 * reports an end once.
 */
const TRIED_FOR_MS = 120_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

export interface InboxOwner {
  isOpen(): boolean;
  failed(what: string, error: unknown): void;
  /** Pauses reading from the socket. */
  hold(): void;
  resume(): void;
}

/** A monotonic clock in milliseconds, and its delay. */
export interface Pace {
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

const REAL: Pace = {
  now: () => performance.now(),
  wait: (milliseconds) => delay(milliseconds, undefined, { ref: false }),
};

interface Entry {
  readonly what: string;
  readonly work: () => Promise<void>;
}

/** Handles the frames of one connection one after the other, also those that are left when the socket has closed. */
export class FrameInbox {
  private readonly entries: Entry[] = [];
  private working: Promise<void> | null = null;
  private held = false;
  /** When it was seen first that the connection is closed. */
  private closedAt: number | null = null;

  constructor(
    private readonly owner: InboxOwner,
    private readonly semaphore: KeyedSemaphore,
    private readonly pace = REAL,
  ) {}

  get isIdle(): boolean {
    return this.working === null;
  }

  /** `what`: for the log. `work` is repeated while the database is unavailable. */
  push(what: string, work: () => Promise<void>): void {
    this.entries.push({ what, work });
    if (!this.held && this.entries.length >= FULL) {
      this.held = true;
      this.owner.hold();
    }
    this.working ??= this.workOff();
  }

  async idle(): Promise<void> {
    await this.working;
  }

  private async workOff(): Promise<void> {
    for (let entry = this.entries.shift(); entry !== undefined; entry = this.entries.shift()) {
      await this.handle(entry);
      if (this.held && this.entries.length <= RESUME_BELOW) {
        this.held = false;
        this.owner.resume();
      }
    }
    this.working = null;
  }

  private async handle({ what, work }: Entry): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        await this.semaphore.run('', work);
        return;
      } catch (error) {
        if (!isDatabaseUnavailable(error) || this.isGivenUp(waitMs)) {
          this.owner.failed(what, error);
          return;
        }
      }
      await this.pace.wait(waitMs);
    }
  }

  private isGivenUp(waitMs: number): boolean {
    if (this.owner.isOpen()) return false;
    this.closedAt ??= this.pace.now();
    return this.pace.now() + waitMs > this.closedAt + TRIED_FOR_MS;
  }
}
