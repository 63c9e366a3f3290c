import { isSameProcess, type ProcessIdentity } from '#platform/kernel';

const LOOK_MS = 500;

/** A runner that is no child of ours: started by an earlier process of the daemon. */
export class OrphanRunner {
  /** Resolves when it has gone. */
  readonly gone: Promise<void>;

  constructor(private readonly identity: ProcessIdentity) {
    this.gone = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (isSameProcess(identity)) return;
        clearInterval(timer);
        resolve();
      }, LOOK_MS);
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!isSameProcess(this.identity)) return;
    try {
      process.kill(this.identity.pid, signal);
    } catch {
      return; // gone since the look
    }
  }
}
