import type { Queryable } from '#platform/persistence';

/** More executions than the installation of a backup creates after it, and far below the range of the column. */
const SKIPPED_IDS = 100_000_000;
/** More often than an execution is claimed, so that no runner of that installation has the new epoch. */
const SKIPPED_EPOCHS = 1_000_000;

/**
 * For an installation that was restored from a backup, whose runners and workers may still be alive. Runners cannot continue what was
 * active, because what they have reported since is lost: their next request is answered with `lease_lost`, and the executions end
 * as if their runners were lost. New executions have no identifier that an execution since the backup has: tokens of runners contain nothing else.
 */
export async function endLeases(queryable: Queryable): Promise<void> {
  await queryable.query(
    `UPDATE headrace.executions SET lease_epoch = lease_epoch + ${SKIPPED_EPOCHS}, lease_expires_at = headrace.now(), worker_connection_id = NULL
      WHERE ended_at IS NULL`,
  );
  const sequence = `pg_get_serial_sequence('headrace.executions', 'id')`;
  await queryable.query(`SELECT setval(${sequence}, nextval(${sequence}) + ${SKIPPED_IDS})`);
}
