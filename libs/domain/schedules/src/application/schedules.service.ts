import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor, type Permission } from '#platform/auth';
import { isUid, newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { type CreateRunResult, mayOnOwner, slotKey } from '#domain/runs';
import { parseCron, Timers } from '#platform/timers';
import { MAX_SCHEDULES, type Schedule } from '../domain/schedule.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { ScheduleLauncher } from './schedule-launcher.js';
import { type RequestedSchedule, type ScheduleRejection, ScheduleValidator } from './schedule-validator.js';

/** `not_yours`: the schedule exists, and the caller's role does not allow this on it. */
type NotFound = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };

export type GetScheduleResult = { readonly kind: 'found'; readonly schedule: Schedule } | NotFound;
export type CreateScheduleResult =
  | { readonly kind: 'created'; readonly schedule: Schedule }
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | ScheduleRejection;
export type UpdateScheduleResult =
  { readonly kind: 'updated'; readonly schedule: Schedule } | NotFound | ScheduleRejection;
export type DeleteScheduleResult = { readonly kind: 'deleted' } | NotFound;
export type RunScheduleResult = CreateRunResult | NotFound | { readonly kind: 'feature_not_available' };

type Change = (tx: Queryable, schedule: Schedule) => Promise<ScheduleRejection | null>;

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

  async get(caller: Caller, uid: string, permission: Permission = 'schedules:read'): Promise<GetScheduleResult> {
    const schedule = isUid(uid) ? await this.store.find(uid) : null;
    if (!schedule) return { kind: 'unknown' };
    return mayOnOwner(caller, schedule.owner, permission) ? { kind: 'found', schedule } : { kind: 'not_yours' };
  }

  /** The caller's own and those of the caller's teams, alphabetically by name; prompts cut to {@link LISTED_PROMPT_CHARACTERS}. */
  async list(caller: Caller): Promise<Schedule[]> {
    const userUid = caller.principal.type === 'user' ? caller.principal.uid : null;
    return this.store.listFor({ teamUids: caller.teamUids, userUid });
  }

  /**
   * An enabled schedule starts runs from its next due time on. `team`: false makes it personal; by default it belongs to the
   * caller's team, if there is one.
   */
  async create(caller: Caller, requested: RequestedSchedule, team?: boolean): Promise<CreateScheduleResult> {
    const { principal } = caller;
    const owner = ownerFor(caller, team);
    if (owner === null) return { kind: 'team_needed' };
    if (!mayOnOwner(caller, owner, 'schedules:write'))
      return { kind: 'not_authorized', detail: 'Your role on the team does not allow schedules.' };
    const unavailable = await this.validator.unavailable(caller, owner);
    if (unavailable) return unavailable;
    const uid = newUid();
    const checked = await this.validator.validate(this.database, caller, uid, owner, requested, null);
    if (checked.kind !== 'valid') return checked;
    const { fields, cron } = checked;
    const created = await this.database.transaction(async (tx) => {
      if (!(await this.store.reserve(tx, slotKey(owner), MAX_SCHEDULES))) return false;
      await this.store.insert(tx, uid, owner, { type: principal.type, uid: principal.uid }, fields);
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      return true;
    });
    if (!created) return { kind: 'limit_reached', limit: MAX_SCHEDULES };
    const found = await this.get(caller, uid);
    if (found.kind !== 'found') throw new Error('The schedule was deleted immediately after it was created.');
    return { kind: 'created', schedule: found.schedule };
  }

  /** Replaces all fields. Runs that it has started keep the schedule as it was. */
  update(caller: Caller, uid: string, requested: RequestedSchedule): Promise<UpdateScheduleResult> {
    const author = { type: caller.principal.type, uid: caller.principal.uid };
    return this.change(caller, uid, async (tx, stored) => {
      const unavailable = await this.validator.unavailable(caller, stored.owner);
      if (unavailable) return unavailable;
      const checked = await this.validator.validate(tx, caller, uid, stored.owner, requested, stored);
      if (checked.kind !== 'valid') return checked;
      const { fields, cron } = checked;
      if (fields.enabled)
        await this.timers.set(tx, SCHEDULE_TIMER, [{ key: uid, cron, jitterSeconds: fields.jitterSeconds }]);
      else await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.update(tx, uid, author, fields);
      return null;
    });
  }

  /** It starts no runs until it is resumed. Pausing a paused schedule changes only the reason. */
  pause(caller: Caller, uid: string): Promise<UpdateScheduleResult> {
    return this.change(caller, uid, async (tx) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      await this.store.disable(tx, uid, null);
      return null;
    });
  }

  /** It starts runs from its next due time on; due times of the pause are not repeated. */
  resume(caller: Caller, uid: string): Promise<UpdateScheduleResult> {
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

  /** It starts no more runs; the runs that it has started stay. */
  async delete(caller: Caller, uid: string): Promise<DeleteScheduleResult> {
    const result = await this.change(caller, uid, async (tx, { owner }) => {
      await this.timers.remove(tx, SCHEDULE_TIMER, [uid]);
      if (await this.store.delete(tx, uid)) await this.store.release(tx, slotKey(owner));
      return null;
    });
    return result.kind === 'not_yours' || result.kind === 'unknown' ? result : { kind: 'deleted' };
  }

  /** Starts a run now, also of a paused schedule; due times and the overlap policy do not matter. */
  async run(caller: Caller, uid: string): Promise<RunScheduleResult> {
    const found = await this.get(caller, uid, 'schedules:write');
    if (found.kind !== 'found') return found;
    const { schedule } = found;
    const unavailable = await this.validator.unavailable(caller, schedule.owner);
    if (unavailable) return unavailable;
    const { teamUid } = schedule.owner;
    // The team of the schedule, whichever team the caller's header names.
    const asOwner = teamUid === null ? caller : { ...caller, teamUid, teamUids: [teamUid] };
    return this.launcher.launchNow(asOwner, schedule);
  }

  /** Changes of one schedule are serialized, and apply from their commit on: they wait for a firing under way. */
  private async change(caller: Caller, uid: string, apply: Change): Promise<UpdateScheduleResult> {
    if (!isUid(uid)) return { kind: 'unknown' };
    return this.database.transaction(async (tx): Promise<UpdateScheduleResult> => {
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'unknown' };
      if (!mayOnOwner(caller, stored.owner, 'schedules:write')) return { kind: 'not_yours' };
      const rejection = await apply(tx, stored);
      if (rejection) return rejection;
      return { kind: 'updated', schedule: (await this.store.find(uid, tx)) ?? stored };
    });
  }
}
