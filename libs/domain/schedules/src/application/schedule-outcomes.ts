import type { Issue } from '#platform/kernel';
import type { Schedule } from '../domain/schedule.js';

/** What is asked for cannot be. */
export type ScheduleRefusal =
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  | ({ readonly kind: 'too_large' } & Issue)
  | { readonly kind: 'not_authorized'; readonly detail: string }
  /** Schedules are switched off for the team. */
  | { readonly kind: 'feature_not_available' };

export type CreateScheduleResult =
  | { readonly kind: 'created'; readonly schedule: Schedule }
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | ScheduleRefusal;

export type ChangeScheduleResult =
  | { readonly kind: 'changed'; readonly schedule: Schedule }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' }
  | ScheduleRefusal;

export type DeleteScheduleResult =
  { readonly kind: 'deleted' } | { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };

/** A schedule as a request asks for it. `agentConfig` undefined: the stored one stays. */
export interface RequestedSchedule {
  readonly name: string;
  readonly cronSchedule: string;
  readonly prompt: string;
  readonly enabled: boolean;
  readonly timezone?: string;
  readonly agentConfig?: Schedule['agentConfig'];
  readonly agentIdentityUid?: string | null;
  readonly mode?: Schedule['mode'];
  readonly metadata?: Schedule['metadata'];
  readonly overlapPolicy?: Schedule['overlapPolicy'];
  readonly jitterSeconds?: number;
}
