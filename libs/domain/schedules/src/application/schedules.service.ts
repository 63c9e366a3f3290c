import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, isStillValid, ownerFor } from '#platform/auth';
import { isUid, newUid, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { type CreateRunResult, slotKey } from '#domain/runs';
import { parseCron, Timers } from '#platform/timers';
import { type ListedSchedule, MAX_SCHEDULES, type Schedule } from '../domain/schedule.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { ScheduleLauncher } from './schedule-launcher.js';
import {
  type RequestedSchedule,
  type ScheduleInputRejection,
  ScheduleValidator,
  type UnavailableSchedules,
} from './schedule-validator.js';

type LookupRejection = RejectionOf<'not_found' | 'forbidden'>;
type ChangeRejection = LookupRejection | ScheduleInputRejection | UnavailableSchedules;
type Change = (tx: Queryable, schedule: Schedule) => Promise<ChangeRejection | null>;

/** Schedules as callers manage them, each through the caller's permission on its owner. */
@Injectable()
export class SchedulesService {
  constructor(
    private readonly database: Database,
    private readonly store: SchedulesStore,
    private readonly validator: ScheduleValidator,
    private readonly timers: Timers,
    private readonly launcher: ScheduleLauncher,
  ) {}

  async get(caller: Caller, uid: string): Promise<Schedule | LookupRejection> {
    const schedule = isUid(uid) ? await this.store.find(uid) : null;
    if (!schedule) return { kind: 'not_found' };
    return isAllowed(caller, schedule.owner) ? schedule : { kind: 'forbidden' };
  }

  /** The caller's own and those of the caller's teams, alphabetically by name; prompts cut to {@link LISTED_PROMPT_CHARACTERS}. */
  list({ principal: { type, uid }, teamUids }: Caller): Promise<ListedSchedule[]> {
    return this.store.listFor(teamUids, type === 'user' ? uid : null);
  }

  /** `team`: false makes it personal; by default it belongs to the caller's team, if there is one. */
  async create(
    caller: Caller,
    requested: RequestedSchedule,
    team?: boolean,
  ): Promise<Schedule | ChangeRejection | RejectionOf<'limit_reached'>> {
    const owner = ownerFor(caller, team);
    if (owner === null) {
      const detail = 'a caller on several teams must choose a team with the X-Headrace-Team-Uid header';
      return { kind: 'invalid', issues: [{ pointer: '/team', detail }] };
    }
    if (!isAllowed(caller, owner)) return { kind: 'forbidden' };
    const unavailable = await this.validator.unavailable(caller, owner);
    if (unavailable) return unavailable;
    const uid = newUid();
    const checked = await this.validator.validate(this.database, caller, uid, owner, requested, null);
    if ('kind' in checked) return checked;
    const { fields, cron } = checked;
    const created = await this.database.transaction(async (tx) => {
      if (!(await isStillValid(tx, caller.principal.tokenUid))) return 'forbidden';
      if (!(await this.store.reserve(tx, slotKey(owner), MAX_SCHEDULES))) return 'limit_reached';
      await this.store.insert(tx, uid, owner, caller.principal, fields);
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      return 'created';
    });
    if (created === 'forbidden') return { kind: created };
    if (created === 'limit_reached') return { kind: created, limit: MAX_SCHEDULES };
    const schedule = await this.store.find(uid);
    if (!schedule) throw new Error('The schedule was deleted immediately after it was created.');
    return schedule;
  }

  update(caller: Caller, uid: string, requested: RequestedSchedule): Promise<Schedule | ChangeRejection> {
    return this.change(caller, uid, async (tx, stored) => {
      const unavailable = await this.validator.unavailable(caller, stored.owner);
      if (unavailable) return unavailable;
      const checked = await this.validator.validate(tx, caller, uid, stored.owner, requested, stored);
      if ('kind' in checked) return checked;
      const { fields, cron } = checked;
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      else await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.update(tx, uid, caller.principal, fields);
      return null;
    });
  }

  /** It starts no runs until it is resumed. Pausing a paused schedule changes only the reason. */
  pause(caller: Caller, uid: string): Promise<Schedule | ChangeRejection> {
    return this.change(caller, uid, async (tx) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.disable(tx, uid, null);
      return null;
    });
  }

  resume(caller: Caller, uid: string): Promise<Schedule | ChangeRejection> {
    return this.change(caller, uid, async (tx, { owner, cronSchedule, timezone, jitterSeconds }) => {
      const unavailable = await this.validator.unavailable(caller, owner);
      if (unavailable) return unavailable;
      const parsed = parseCron(cronSchedule, timezone);
      if (parsed.kind === 'invalid')
        return { kind: 'invalid', issues: [{ pointer: '/cron_schedule', detail: parsed.detail }] };
      await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron: parsed.cron, jitterSeconds }]);
      await this.store.enable(tx, uid);
      return null;
    });
  }

  delete(caller: Caller, uid: string): Promise<Schedule | ChangeRejection> {
    return this.change(caller, uid, async (tx, { owner }) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      if (await this.store.delete(tx, uid)) await this.store.release(tx, slotKey(owner));
      return null;
    });
  }

  async run(caller: Caller, uid: string): Promise<CreateRunResult | LookupRejection | UnavailableSchedules> {
    const schedule = await this.get(caller, uid);
    if ('kind' in schedule) return schedule;
    const unavailable = await this.validator.unavailable(caller, schedule.owner);
    if (unavailable) return unavailable;
    const { teamUid } = schedule.owner;
    // The team of the schedule, whichever team the caller's header names.
    const teams = teamUid === null ? caller : { teamUid, teamUids: [teamUid] };
    return this.launcher.launchNow({ ...caller, ...teams, permission: 'runs:write' }, schedule);
  }

  /** Changes of one schedule are serialized, and apply from their commit on: they wait for a firing under way. */
  private async change(caller: Caller, uid: string, apply: Change): Promise<Schedule | ChangeRejection> {
    if (!isUid(uid)) return { kind: 'not_found' };
    return this.database.transaction(async (tx) => {
      if (!(await isStillValid(tx, caller.principal.tokenUid))) return { kind: 'forbidden' };
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'not_found' };
      if (!isAllowed(caller, stored.owner)) return { kind: 'forbidden' };
      return (await apply(tx, stored)) ?? (await this.store.find(uid, tx)) ?? stored;
    });
  }
}
