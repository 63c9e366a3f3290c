import { Injectable } from '@nestjs/common';
import type { Caller, Permission } from '#platform/auth';
import { isUid } from '#platform/kernel';
import { mayOnOwner } from '#domain/runs';
import type { Schedule } from '../domain/schedule.js';
import { SchedulesStore } from '../persistence/schedules.store.js';

export type ScheduleLookup =
  | { readonly kind: 'found'; readonly schedule: Schedule }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' };

/** Schedules through the caller's permission. One round trip each. */
@Injectable()
export class FindSchedules {
  constructor(private readonly store: SchedulesStore) {}

  async one(caller: Caller, uid: string, permission: Permission): Promise<ScheduleLookup> {
    const schedule = isUid(uid) ? await this.store.find(uid) : null;
    if (!schedule) return { kind: 'unknown' };
    return mayOnOwner(caller, schedule.owner, permission) ? { kind: 'found', schedule } : { kind: 'not_yours' };
  }

  /** The caller's own and those of the teams at hand, alphabetically by name; prompts cut to {@link LISTED_PROMPT_CHARACTERS}. */
  async all(caller: Caller): Promise<Schedule[]> {
    const userUid = caller.principal.type === 'user' ? caller.principal.uid : null;
    return this.store.listFor({ teamUids: caller.teamUids, userUid });
  }
}
