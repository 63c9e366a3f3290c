import { hasEnded, isSameProcess, type ProcessIdentity } from '#platform/kernel';

const POLL_MS = 500;

/** A runner that an earlier process of the host started, so it is not a child of this process. */
export class OrphanRunner {
  readonly gone: Promise<void>;

  constructor(private readonly identity: ProcessIdentity) {
    this.gone = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (!hasEnded(identity)) return;
        clearInterval(timer);
        resolve();
      }, POLL_MS);
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!isSameProcess(this.identity)) return;
    try {
      process.kill(this.identity.pid, signal);
    } catch {
      return; // ended since the check
    }
  }
}
