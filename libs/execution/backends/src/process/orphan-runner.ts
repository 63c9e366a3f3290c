import { hasEnded, isSameProcess, type ProcessIdentity } from '#platform/kernel';

const POLL_MS = 500;

/** A runner that an earlier process of the host started, so it is not a child of this process. */
export class OrphanRunner {
  readonly gone: Promise<void>;
  /** It could not be sent, because it was not known whether the process still is the runner. */
  private unsent: NodeJS.Signals | null = null;

  constructor(private readonly identity: ProcessIdentity) {
    this.gone = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (!hasEnded(identity)) {
          if (this.unsent !== null) this.signal(this.unsent);
          return;
        }
        clearInterval(timer);
        resolve();
      }, POLL_MS);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.unsent = isSameProcess(this.identity) ? null : signal;
    if (this.unsent !== null) return;
    try {
      process.kill(this.identity.pid, signal);
    } catch {
      return; // ended since the check
    }
  }
}
