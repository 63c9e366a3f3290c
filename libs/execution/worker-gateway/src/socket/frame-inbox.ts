import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable } from '#platform/persistence';
import type { KeyedSemaphore } from '#platform/kernel';

/** So much waits at most before no more is read from the socket. */
const FULL = 128;
const RESUME_BELOW = 32;
/** How long a frame is tried while the database is away. Longer than a lease, beyond which it changes nothing. */
const TRIED_FOR_MS = 120_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

export interface InboxOwner {
  failed(what: string, error: unknown): void;
  /** Reads no more until it is resumed. */
  hold(): void;
  resume(): void;
}

/** Milliseconds of a clock that only goes forward, and waiting for some of them. */
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
  readonly until: number;
}

/** What is to be done for one connection, one after the other. Outlives the socket: what was said counts. */
export class FrameInbox {
  private readonly entries: Entry[] = [];
  private working: Promise<void> | null = null;
  private held = false;

  constructor(
    private readonly owner: InboxOwner,
    private readonly semaphore: KeyedSemaphore,
    private readonly pace = REAL,
  ) {}

  get isIdle(): boolean {
    return this.working === null;
  }

  /** `what`: for the log. `work` is repeated while the database is away. */
  push(what: string, work: () => Promise<void>): void {
    this.entries.push({ what, work, until: this.pace.now() + TRIED_FOR_MS });
    if (!this.held && this.entries.length >= FULL) {
      this.held = true;
      this.owner.hold();
    }
    this.working ??= this.workOff();
  }

  /** Resolves when there is nothing left to do. */
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

  private async handle({ what, work, until }: Entry): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        await this.semaphore.run('', work);
        return;
      } catch (error) {
        if (!isDatabaseUnavailable(error) || this.pace.now() + waitMs > until) {
          this.owner.failed(what, error);
          return;
        }
      }
      await this.pace.wait(waitMs);
    }
  }
}
