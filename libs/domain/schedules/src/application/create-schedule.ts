import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { mayOnOwner, slotKey } from '#domain/runs';
import { MAX_SCHEDULES } from '../domain/schedule.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { FindSchedules } from './find-schedules.js';
import { ScheduleChecks } from './schedule-checks.js';
import type { CreateScheduleResult, RequestedSchedule } from './schedule-outcomes.js';
import { Timers } from './timers.js';

/** Makes a schedule; an enabled one starts runs from its next due time on. */
@Injectable()
export class CreateSchedule {
  constructor(
    private readonly database: Database,
    private readonly store: SchedulesStore,
    private readonly checks: ScheduleChecks,
    private readonly timers: Timers,
    private readonly find: FindSchedules,
  ) {}

  /** `team`: false makes it personal; by default it belongs to the caller's team where there is one. */
  async execute(caller: Caller, asked: RequestedSchedule, team?: boolean): Promise<CreateScheduleResult> {
    const { principal } = caller;
    const owner = ownerFor(caller, team);
    if (owner === null) return { kind: 'team_needed' };
    if (!mayOnOwner(caller, owner, 'schedules:write'))
      return { kind: 'not_authorized', detail: 'Your role on the team does not allow schedules.' };
    const unavailable = await this.checks.unavailable(caller, owner);
    if (unavailable) return unavailable;
    const uid = newUid();
    const checked = await this.checks.check(this.database, caller, uid, owner, asked, null);
    if (checked.kind !== 'valid') return checked;
    const { fields, cron } = checked;
    const made = await this.database.transaction(async (tx) => {
      if (!(await this.store.takePlace(tx, slotKey(owner), MAX_SCHEDULES))) return false;
      await this.store.insert(tx, uid, owner, { type: principal.type, uid: principal.uid }, fields);
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      return true;
    });
    if (!made) return { kind: 'limit_reached', limit: MAX_SCHEDULES };
    const found = await this.find.one(caller, uid, 'schedules:read');
    if (found.kind !== 'found') throw new Error('The schedule was deleted as soon as it was made.');
    return { kind: 'created', schedule: found.schedule };
  }
}
