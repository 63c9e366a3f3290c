import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from './database-error.js';

export interface GroupLimits {
  /** Items of one statement. */
  readonly maxGroup: number;
  /** Concurrent statements: items that arrive meanwhile wait for the next one, and share it. */
  readonly maxInFlight: number;
  /** Minimum time between two statements; items that arrive meanwhile share the next one. Default 0. */
  readonly spacingMs?: number;
}

/** Each lasts as long as the work that is ready, about 0.1 ms under load. */
const MAX_TURNS = 3;
/** Clients that send their next request at once have sent it by then. */
const NEXT_REQUEST_MS = 5;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets concurrent requests share statements. While requests do not overlap, an item is sent alone and at once (or, with a spacing, if
 * none was sent recently). Under load one statement, one commit and one round trip serve many requests: clients that get their responses
 * together send their next requests together. So after a shared statement has ended, the next one waits for as many items, for a few
 * turns of the event loop at most. An item never joins a statement that was sent before it arrived, so that it sees everything
 * committed by then.
 *
 * `run` returns one result per item, in their order. When it fails because the database is unavailable or too slow, all items fail;
 * otherwise each item is run alone, so that one that the database rejects does not fail the others: `run` must be a single
 * transaction.
 */
export class GroupedStatement<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private inFlight = 0;
  private sentAt = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  /** Items of the statement that ended last. */
  private endedSize = 1;
  private endedAt = -Infinity;
  /** Turns of the event loop that the next statement has waited for. */
  private turns = 0;
  private isWaitingForTurn = false;

  constructor(
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly limits: GroupLimits,
  ) {}

  execute(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.send();
    });
  }

  private send(): void {
    while (this.inFlight < this.limits.maxInFlight && this.waiting.length > 0) {
      if (this.waitsForMore() || this.isTooSoon()) return;
      const group = this.waiting.slice(0, this.limits.maxGroup);
      this.turns = 0;
      this.waiting = this.waiting.slice(group.length);
      this.inFlight += 1;
      void this.commit(group).finally(() => {
        this.inFlight -= 1;
        this.endedSize = group.length;
        this.endedAt = performance.now();
        this.send();
      });
    }
  }

  private waitsForMore(): boolean {
    if (this.waiting.length >= this.endedSize || this.turns >= MAX_TURNS) return false;
    if (this.isWaitingForTurn) return true;
    if (performance.now() - this.endedAt > NEXT_REQUEST_MS) return false;
    this.isWaitingForTurn = true;
    this.turns += 1;
    setImmediate(() => {
      this.isWaitingForTurn = false;
      this.send();
    });
    return true;
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
      await this.runGroup(group);
    } catch (error) {
      if (group.length === 1 || isBeyondItems(error)) group.forEach(({ reject }) => reject(error));
      else await this.commitEach(group);
    }
  }

  /** One after the other, until an error that no item has caused: each of the rest would wait for its own timeout. */
  private async commitEach(group: readonly Waiting<Item, Result>[]): Promise<void> {
    for (const [index, one] of group.entries())
      try {
        await this.runGroup([one]);
      } catch (error) {
        one.reject(error);
        if (isBeyondItems(error)) return group.slice(index + 1).forEach(({ reject }) => reject(error));
      }
  }

  private async runGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const results = await this.run(group.map(({ item }) => item));
    if (results.length !== group.length) throw new Error('A grouped statement did not return a result for every item.');
    results.forEach((result, index) => group[index]?.resolve(result));
  }
}

/** Errors that no item has caused: running the items one by one would only take longer. */
const isBeyondItems = (error: unknown): boolean => isDatabaseUnavailable(error) || sqlState(error) === QUERY_CANCELED;
