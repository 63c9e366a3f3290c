export interface SemaphoreLimits {
  /** Permits in all. */
  readonly total: number;
  /** Permits that one key holds at most, so that a slow key leaves permits to the others. Default: `total`. */
  readonly perKey?: number;
  /**
   * Callers that may wait; further ones receive no permit. Those of one key have the part of it that `perKey` is of `total`, so that
   * they leave places to other keys. Default: any number.
   */
  readonly maxWaiting?: number;
  /** How long a caller waits. Default: until a permit is free. */
  readonly maxWaitMs?: number;
}

interface Waiter {
  readonly key: string;
  readonly begin: () => void;
}

/** Bounds how much work runs at once. Waiting callers proceed in their order, as far as the limit of their key allows. */
export class KeyedSemaphore {
  private readonly running = new Map<string, number>();
  private readonly waiting: Waiter[] = [];
  private total = 0;

  constructor(private readonly limits: SemaphoreLimits) {}

  /** Runs the work with a permit; null when there was none in time, which happens only with a limit on waiting. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T | null> {
    const hasPermit = this.isFree(key) ? this.enter(key) : await this.wait(key);
    if (!hasPermit) return null;
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  private isFree(key: string): boolean {
    const { total, perKey = total } = this.limits;
    return this.total < total && (this.running.get(key) ?? 0) < perKey;
  }

  private enter(key: string): true {
    this.total += 1;
    this.running.set(key, (this.running.get(key) ?? 0) + 1);
    return true;
  }

  private mayWait(key: string): boolean {
    const { maxWaiting, total, perKey = total } = this.limits;
    if (maxWaiting === undefined) return true;
    const ofKey = this.waiting.filter((waiter) => waiter.key === key).length;
    return this.waiting.length < maxWaiting && ofKey < Math.ceil((maxWaiting * perKey) / total);
  }

  private wait(key: string): Promise<boolean> {
    const { maxWaitMs } = this.limits;
    if (!this.mayWait(key)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        key,
        begin: () => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      const expire = (): void => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        resolve(false);
      };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(expire, maxWaitMs);
      this.waiting.push(waiter);
    });
  }

  /** The permit passes to the first waiter whose key allows it before any later caller can take it. */
  private leave(key: string): void {
    this.total -= 1;
    const left = (this.running.get(key) ?? 0) - 1;
    if (left > 0) this.running.set(key, left);
    else this.running.delete(key);
    const next = this.waiting.findIndex((waiter) => this.isFree(waiter.key));
    const [chosen] = next === -1 ? [] : this.waiting.splice(next, 1);
    if (!chosen) return;
    this.enter(chosen.key);
    chosen.begin();
  }
}
