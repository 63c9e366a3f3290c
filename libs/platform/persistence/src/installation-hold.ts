import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { isDatabaseUnavailable } from './database-error.js';
import { type Queryable, statement } from './database.js';

const POLL_MS = 1_000;

const IS_HELD = statement('installation-hold.is-held')`SELECT EXISTS (SELECT FROM headrace.installation_hold) AS held`;
const HOLD = statement('installation-hold.hold')`
  INSERT INTO headrace.installation_hold (held_at) VALUES (headrace.now()) ON CONFLICT DO NOTHING`;
const RELEASE = statement('installation-hold.release')`DELETE FROM headrace.installation_hold RETURNING held_at`;

/** A restored installation is held: processors wait and nothing is placed, until an operator releases it. */
export const InstallationHold = {
  async isHeld(database: Queryable): Promise<boolean> {
    const [row] = await database.query<{ held: boolean }>(IS_HELD);
    return row?.held ?? false;
  },

  async hold(database: Queryable): Promise<void> {
    await database.query(HOLD);
  },

  /** False: it was not held. */
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
