import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { isDatabaseUnavailable, sqlState } from './database-error.js';
import { type Queryable, statement } from './database.js';

/** Spells "HEAB": an advisory lock that a backup holds, during which no object is deleted that its rows may name. */
export const BACKUP_LOCK = 0x48454142;
/** SQL: whether a backup of this database is being made. */
export const IS_BACKED_UP = `EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ${BACKUP_LOCK} AND objsubid = 1
  AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

const POLL_MS = 1_000;

const IS_HELD = statement('installation-hold.is-held')`SELECT EXISTS (SELECT FROM headrace.installation_hold) AS held`;
const IS_RESTORING = statement('installation-hold.is-restoring')`
  SELECT coalesce(bool_or(is_restoring), false) AS restoring FROM headrace.installation_hold`;
const END_RESTORE = statement('installation-hold.end-restore')`
  UPDATE headrace.installation_hold SET held_at = headrace.now(), is_restoring = false`;
const RELEASE = statement('installation-hold.release')`
  DELETE FROM headrace.installation_hold WHERE NOT is_restoring RETURNING held_at`;
/** The table, or its schema, does not exist: nothing was restored. */
const NO_TABLE: readonly (string | null)[] = ['42P01', '3F000', '42703'];

/** A restored installation is held: processors wait and nothing is placed, until an operator releases it. */
export const InstallationHold = {
  async isHeld(database: Queryable): Promise<boolean> {
    const [row] = await database.query<{ held: boolean }>(IS_HELD);
    return row?.held ?? false;
  },

  /** Whether a restore has begun and not ended. */
  async isRestoring(database: Queryable): Promise<boolean> {
    try {
      const [row] = await database.query<{ restoring: boolean }>(IS_RESTORING);
      return row?.restoring ?? false;
    } catch (error) {
      if (NO_TABLE.includes(sqlState(error))) return false;
      throw error;
    }
  },

  /** The rows are complete. The installation is held from now on. */
  async endRestore(database: Queryable): Promise<void> {
    await database.query(END_RESTORE);
  },

  /** False: it was not held, or its restore has not ended. */
  async release(database: Queryable): Promise<boolean> {
    return (await database.query(RELEASE)).length > 0;
  },

  /** Resolves with true when the installation is not held any more, and with false when the signal aborts. */
  async untilReleased(database: Queryable, signal: AbortSignal): Promise<boolean> {
    const logger = new Logger('InstallationHold');
    logger.warn(
      'The installation was restored from a backup and is held: no run starts, no schedule fires and no delivery is evaluated. `headrace restore --resume` releases it.',
    );
    while (!signal.aborted) {
      try {
        await delay(POLL_MS, undefined, { signal });
        if (await this.isHeld(database)) continue;
        logger.log('The installation is not held any more.');
        return true;
      } catch (error) {
        if (!signal.aborted && !isDatabaseUnavailable(error)) throw error;
      }
    }
    return false;
  },
};
