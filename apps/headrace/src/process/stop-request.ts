/** Why this process is to stop. */
export type StopReason = 'signal' | 'launcher gone';

/**
 * Waits for the word to stop: SIGINT or SIGTERM, or the end of the launcher. A second signal ends the process at once.
 */
export class StopRequest {
  private reason: StopReason | null = null;
  private readonly arrived: Promise<StopReason>;
  private arrive: (reason: StopReason) => void = () => undefined;

  constructor(launcherGone: Promise<void>) {
    this.arrived = new Promise((resolve) => (this.arrive = resolve));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (this.reason !== null) process.exit(1);
        this.stop('signal');
      });
    }
    void launcherGone.then(() => this.stop('launcher gone'));
  }

  get isMade(): boolean {
    return this.reason !== null;
  }

  wait(): Promise<StopReason> {
    return this.arrived;
  }

  private stop(reason: StopReason): void {
    this.reason ??= reason;
    this.arrive(this.reason);
  }
}
