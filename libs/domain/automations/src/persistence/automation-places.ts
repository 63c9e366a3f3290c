import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';

const TAKE: Statement = {
  name: 'automations.take-place',
  text: `INSERT INTO automation_counts AS c (factory_uid, used) VALUES ($1, 1)
  ON CONFLICT (factory_uid) DO UPDATE SET used = c.used + 1 WHERE c.used < $2 RETURNING 1`,
};
const LOCK: Statement = {
  name: 'automations.lock-places',
  text: 'SELECT 1 FROM automation_counts WHERE factory_uid = $1 FOR UPDATE',
};
const USED: Statement = {
  name: 'automations.used-places',
  text: 'SELECT used FROM automation_counts WHERE factory_uid = $1',
};
const GIVE_BACK: Statement = {
  name: 'automations.give-place-back',
  text: 'UPDATE automation_counts SET used = used - 1 WHERE factory_uid = $1',
};

/**
 * How many automations a factory has. Whoever makes or deletes one takes this row before any automation, so that they come
 * one after the other and the limit is exact.
 */
@Injectable()
export class AutomationPlaces {
  /** False when all are taken. */
  async take(tx: Queryable, factoryUid: string, limit: number): Promise<boolean> {
    return (await tx.query(TAKE, [factoryUid, limit])).length > 0;
  }

  async lock(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(LOCK, [factoryUid]);
  }

  async used(tx: Queryable, factoryUid: string): Promise<number> {
    const [row] = await tx.query<{ used: number }>(USED, [factoryUid]);
    return row?.used ?? 0;
  }

  async giveBack(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(GIVE_BACK, [factoryUid]);
  }
}
