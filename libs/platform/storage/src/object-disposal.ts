import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { Database, IS_BACKED_UP, type Queryable } from '#platform/persistence';
import { objectKeySegments, ObjectStore, ObjectStoreUnavailableError } from './object-store.js';

/** Beyond the life of a link that was handed out a moment ago: a download that has begun, clocks that differ. */
const LINK_MARGIN_MS = 60_000;
/** What could not be deleted is tried again after this, so that one bad object does not hold up the others. */
const RETRY_MS = 10 * 60_000;
const DELETIONS_AT_ONCE = 8;

/** SQL that takes back what was noted; `names`: a query of names, those of prefixes with a slash at their end. */
export const keepDiscarded = (names: string): string => `DELETE FROM discarded_objects WHERE name IN (${names})`;

/** SQL that notes names for deletion; `names`: a query of keys, `ms`: {@link ObjectDisposal.delayMs}. */
export const discardNamed = (names: string, ms: string): string =>
  `INSERT INTO discarded_objects (name, delete_after)
   SELECT DISTINCT name, headrace.now() + ${ms}::int * interval '1 millisecond' FROM (${names}) AS named (name)
   ON CONFLICT (name) DO NOTHING`;
const DISCARD = discardNamed('SELECT unnest($1::text[])', '$2');

/**
 * Deletes objects that nothing points to any more: later, so that download links handed out keep working, and for
 * certain, because the intention commits together with the change that made the object superfluous. A name that was
 * discarded must not be written again: a replaced object gets a new key.
 */
@Injectable()
export class ObjectDisposal {
  private readonly logger = new Logger(ObjectDisposal.name);

  constructor(
    private readonly store: ObjectStore,
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** Milliseconds until an object that is discarded now may be deleted. */
  get delayMs(): number {
    return this.settings.signedUrlTtl + LINK_MARGIN_MS;
  }

  /** Notes objects for deletion, in the transaction that deletes the last reference to them. */
  async discard(on: Queryable, keys: readonly string[]): Promise<void> {
    await this.note(on, keys, '');
  }

  /** Notes everything below the prefixes (`artifacts/{run_id}`) for deletion. */
  async discardBelow(on: Queryable, prefixes: readonly string[]): Promise<void> {
    await this.note(on, prefixes, '/');
  }

  /**
   * Notes the prefixes of objects that are about to be written for a row that may never come. The statement that writes
   * the row takes the note back with {@link keepDiscarded}. Deleted not before a link's life is over: minutes.
   */
  async discardLater(prefixes: readonly string[]): Promise<void> {
    await this.discardBelow(this.database, prefixes);
  }

  /**
   * Deletes what is due, at most `limit` names; nothing while a backup is made, whose rows may name what was discarded since.
   * Returns how many it dealt with: fewer than `limit` means that nothing
   * is left for now. Safe to run concurrently and to interrupt. Rejects when the store does not answer.
   */
  async sweep(limit = 500): Promise<number> {
    const due = await this.database.query<{ name: string }>(
      `SELECT name FROM discarded_objects WHERE delete_after <= headrace.now() AND NOT ${IS_BACKED_UP} ORDER BY delete_after LIMIT $1`,
      [limit],
    );
    const names = due.map(({ name }) => name);
    const deleted: string[] = [];
    const failures: unknown[] = [];
    for (let start = 0; start < names.length; start += DELETIONS_AT_ONCE) {
      const group = names.slice(start, start + DELETIONS_AT_ONCE);
      const results = await Promise.allSettled(group.map((name) => this.remove(name)));
      results.forEach((result, index) => {
        if (result.status === 'fulfilled') deleted.push(group[index] ?? '');
        else failures.push(result.reason);
      });
      // A store that is away would fail the rest as slowly; what it did delete is deleted again next time.
      const away = failures.find((failure) => failure instanceof ObjectStoreUnavailableError);
      if (away !== undefined) throw away;
    }
    await this.database.query(`DELETE FROM discarded_objects WHERE name = ANY($1::text[])`, [deleted]);
    if (failures.length > 0) {
      await this.database.query(
        `UPDATE discarded_objects SET delete_after = headrace.now() + $2 * interval '1 millisecond'
          WHERE name = ANY($1::text[])`,
        [names.filter((name) => !deleted.includes(name)), RETRY_MS],
      );
      this.logger.warn(`${failures.length} discarded object(s) could not be deleted: ${String(failures[0])}`);
    }
    return names.length;
  }

  private async remove(name: string): Promise<void> {
    if (name.endsWith('/')) await this.store.deletePrefix(name.slice(0, -1));
    else await this.store.delete(name);
  }

  private async note(on: Queryable, keys: readonly string[], suffix: '' | '/'): Promise<void> {
    if (keys.length === 0) return;
    const names = keys.map((key) => objectKeySegments(key).join('/') + suffix);
    await on.query(DISCARD, [names, this.delayMs]);
  }
}

const BATCH_SIZE = 500;
/** Longer work continues in another job, so that a process that is killed loses little. */
const MAX_RUN_MS = 2 * 60_000;

const DELETE_DISCARDED_OBJECTS_TASK = defineTask({
  name: 'sweep-discarded-objects',
  library: 'storage',
  process: 'processor',
  scope: 'cluster',
  period: 5 * 60_000,
  description: 'Deletes discarded objects whose links have expired, batch by batch until none is due.',
  queue: { name: 'storage', options: { concurrency: 1, runRetryDelay: 1000 } },
});

@Injectable()
export class ObjectDisposalTask {
  private readonly logger = new Logger(ObjectDisposalTask.name);

  constructor(
    private readonly disposal: ObjectDisposal,
    private readonly clock: Clock,
    tasks: BackgroundTasks,
  ) {
    tasks.implement(DELETE_DISCARDED_OBJECTS_TASK, (signal) => this.run(signal));
  }

  /** Ends after its batch when `signal` is aborted, or with `again` when there is more than fits into one job. */
  async run(signal: AbortSignal): Promise<'again' | void> {
    const deadline = this.clock.now().getTime() + MAX_RUN_MS;
    try {
      while ((await this.disposal.sweep(BATCH_SIZE)) === BATCH_SIZE) {
        if (signal.aborted) return;
        if (this.clock.now().getTime() >= deadline) return 'again';
      }
    } catch (error) {
      // The rows are kept: the next run repeats the deletion.
      if (!(error instanceof ObjectStoreUnavailableError)) throw error;
      this.logger.warn(`Discarded objects could not be deleted: ${error.message}`);
    }
  }
}
