/** Frames of all connections that are handled at once: each needs a connection to the database. */
const MAX_AT_ONCE = 16;

/** Lets a bounded number of pieces of work run at once; the others wait in the order in which they came. */
export class FrameGate {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  async run(work: () => Promise<void>): Promise<void> {
    if (this.running >= MAX_AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      await work();
    } finally {
      // Whoever waits gets this place, so that nobody who comes meanwhile is before them.
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
