import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { CreateRunResult } from '#domain/runs';
import { FindSchedules } from './find-schedules.js';
import { LaunchSchedule } from './launch-schedule.js';
import { ScheduleChecks } from './schedule-checks.js';

export type RunScheduleResult =
  | CreateRunResult
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' }
  | { readonly kind: 'feature_not_available' };

/** Starts a run of a schedule now, a paused one too; its due times and its overlap policy are not concerned. */
@Injectable()
export class RunSchedule {
  constructor(
    private readonly find: FindSchedules,
    private readonly checks: ScheduleChecks,
    private readonly launch: LaunchSchedule,
  ) {}

  async execute(caller: Caller, uid: string): Promise<RunScheduleResult> {
    const found = await this.find.one(caller, uid, 'schedules:write');
    if (found.kind !== 'found') return found;
    const { schedule } = found;
    const unavailable = await this.checks.unavailable(caller, schedule.owner);
    if (unavailable) return unavailable;
    const { teamUid } = schedule.owner;
    // The team is the schedule's, whatever the caller's header says.
    const asOwner = teamUid === null ? caller : { ...caller, teamUid, teamUids: [teamUid] };
    return this.launch.now(asOwner, schedule);
  }
}
