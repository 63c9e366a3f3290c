import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from './database-error.js';

export interface GroupLimits {
  /** Items of one statement. */
  readonly maxGroup: number;
  /** Statements under way at once: what comes meanwhile waits for the next one, and shares it. */
  readonly maxInFlight: number;
  /** Milliseconds between two statements at least; what comes meanwhile shares the next one. Default 0. */
  readonly spacingMs?: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets what is asked at the same time share statements. Nobody waits for company: with nothing under way (or, with a
 * spacing, of late) an item goes alone and at once. Under load one statement, one commit and one round trip serve many requests. An item never joins a
 * statement that was sent before it came, so that it sees whatever was committed by then.
 *
 * `run` gives one result an item, in their order. Where it fails, a database that is away or too slow fails all items; else each is
 * run alone, so that one that the database refuses does not fail its neighbours: `run` must be a single transaction.
 */
export class GroupedStatement<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private inFlight = 0;
  private sentAt = -Infinity;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly limits: GroupLimits,
  ) {}

  /** Rejects with what the statement failed with. */
  execute(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.send();
    });
  }

  private send(): void {
    while (this.inFlight < this.limits.maxInFlight && this.waiting.length > 0) {
      if (this.isTooSoon()) return;
      const group = this.waiting.slice(0, this.limits.maxGroup);
      this.waiting = this.waiting.slice(group.length);
      this.inFlight += 1;
      void this.commit(group).finally(() => {
        this.inFlight -= 1;
        this.send();
      });
    }
  }

  private isTooSoon(): boolean {
    const { spacingMs = 0 } = this.limits;
    if (spacingMs === 0) return false;
    const waitMs = this.sentAt + spacingMs - performance.now();
    if (waitMs <= 0) {
      this.sentAt = performance.now();
      return false;
    }
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.send();
    }, waitMs);
    return true;
  }

  private async commit(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.run(group.map(({ item }) => item));
      if (results.length !== group.length) throw new Error('A grouped statement did not answer every item.');
      results.forEach((result, index) => group[index]?.resolve(result));
    } catch (error) {
      if (group.length === 1 || isBeyondItems(error)) group.forEach(({ reject }) => reject(error));
      else for (const one of group) await this.commit([one]);
    }
  }
}

/** What none of the items is to blame for: to try them one by one would only take longer. */
const isBeyondItems = (error: unknown): boolean => isDatabaseUnavailable(error) || sqlState(error) === QUERY_CANCELED;
