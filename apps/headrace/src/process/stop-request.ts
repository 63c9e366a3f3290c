/** Why this process is to stop. A fault is an exception that nobody caught: the process is not to be trusted any more. */
export type StopReason = 'signal' | 'launcher gone' | 'fault';

/** Waits for the word to stop: SIGINT or SIGTERM, the end of the launcher, or a fault. A second signal ends the process at once. */
export class StopRequest {
  private made: StopReason | null = null;
  private readonly arrived: Promise<void>;
  private arrive: () => void = () => undefined;
  private readonly controller = new AbortController();

  constructor(launcherGone: Promise<void>) {
    this.arrived = new Promise((resolve) => (this.arrive = resolve));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (this.made !== null) process.exit(1);
        this.make('signal');
      });
    }
    void launcherGone.then(() => this.make('launcher gone'));
  }

  get reason(): StopReason | null {
    return this.made;
  }

  get isMade(): boolean {
    return this.made !== null;
  }

  /** Aborts with the request. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  wait(): Promise<void> {
    return this.arrived;
  }

  /** The first reason counts. */
  make(reason: StopReason): void {
    this.made ??= reason;
    this.controller.abort();
    this.arrive();
  }
}
