import type { Queryable } from '#platform/persistence';

/**
 * Plug for rooms that keep something of a run in tables of their own, without a foreign key that would take it along.
 * Registered with {@link RunDataOwners} where the processor is assembled; asked within the transaction that prunes.
 */
export abstract class RunDataOwner {
  /** The runs are going away. */
  abstract removeRuns(tx: Queryable, runIds: readonly string[]): Promise<void>;

  /** The runs stay, but their logs go away, and with them what was made from the logs. */
  abstract removeLogs(tx: Queryable, runIds: readonly string[]): Promise<void>;
}
