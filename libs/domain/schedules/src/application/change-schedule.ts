import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { isUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { mayOnOwner, slotKey } from '#domain/runs';
import { parseCron } from '../domain/cron/index.js';
import type { Schedule } from '../domain/schedule.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { ScheduleChecks } from './schedule-checks.js';
import type {
  ChangeScheduleResult,
  DeleteScheduleResult,
  RequestedSchedule,
  ScheduleRefusal,
} from './schedule-outcomes.js';
import { Timers } from './timers.js';

type Change = (tx: Queryable, schedule: Schedule) => Promise<ScheduleRefusal | null>;

/** Changes of one schedule, one after the other. Each holds from its commit on: whoever fires the schedule is waited for. */
@Injectable()
export class ChangeSchedule {
  constructor(
    private readonly database: Database,
    private readonly store: SchedulesStore,
    private readonly checks: ScheduleChecks,
    private readonly timers: Timers,
  ) {}

  /** Replaces it. Runs that it has started keep it as it was. */
  replace(caller: Caller, uid: string, asked: RequestedSchedule): Promise<ChangeScheduleResult> {
    const author = { type: caller.principal.type, uid: caller.principal.uid };
    return this.change(caller, uid, async (tx, stored) => {
      const unavailable = await this.checks.unavailable(caller, stored.owner);
      if (unavailable) return unavailable;
      const checked = await this.checks.check(tx, caller, uid, stored.owner, asked, stored);
      if (checked.kind !== 'valid') return checked;
      const { fields, cron } = checked;
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      else await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.update(tx, uid, author, fields);
      return null;
    });
  }

  /** It starts no runs until it is resumed. Pausing a paused one changes nothing but the reason. */
  pause(caller: Caller, uid: string): Promise<ChangeScheduleResult> {
    return this.change(caller, uid, async (tx) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.disable(tx, uid, null);
      return null;
    });
  }

  /** It starts runs again from its next due time on; what was due meanwhile is not made up for. */
  resume(caller: Caller, uid: string): Promise<ChangeScheduleResult> {
    return this.change(caller, uid, async (tx, { owner, cronSchedule, timezone, jitterSeconds }) => {
      const unavailable = await this.checks.unavailable(caller, owner);
      if (unavailable) return unavailable;
      const parsed = parseCron(cronSchedule, timezone);
      if (parsed.kind === 'invalid')
        return { kind: 'invalid', issues: [{ pointer: '/cron_schedule', detail: parsed.detail }] };
      await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron: parsed.cron, jitterSeconds }]);
      await this.store.enable(tx, uid);
      return null;
    });
  }

  /** All future runs stop; those that it has started stay. */
  async delete(caller: Caller, uid: string): Promise<DeleteScheduleResult> {
    const result = await this.change(caller, uid, async (tx, { owner }) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      if (await this.store.delete(tx, uid)) await this.store.givePlaceBack(tx, slotKey(owner));
      return null;
    });
    return result.kind === 'not_yours' || result.kind === 'unknown' ? result : { kind: 'deleted' };
  }

  private async change(caller: Caller, uid: string, apply: Change): Promise<ChangeScheduleResult> {
    if (!isUid(uid)) return { kind: 'unknown' };
    return this.database.transaction(async (tx): Promise<ChangeScheduleResult> => {
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'unknown' };
      if (!mayOnOwner(caller, stored.owner, 'schedules:write')) return { kind: 'not_yours' };
      const refusal = await apply(tx, stored);
      if (refusal) return refusal;
      return { kind: 'changed', schedule: (await this.store.find(uid, tx)) ?? stored };
    });
  }
}
