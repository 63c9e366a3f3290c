import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { type EnvironmentConfig, EnvironmentDirectory, shownConfig } from '#domain/environments';
import { maskConfig, type PrincipalInfo } from '#domain/runs';
import { MAX_LISTED_BYTES } from '#platform/persistence';
import { parseCron } from '#platform/timers';
import { type ListedSchedule, type Schedule, UPCOMING } from '../domain/schedule.js';
import type { ScheduledAgentItem } from './schedule.dto.js';

interface MeasuredEnvironment {
  readonly environment: EnvironmentConfig | null;
  readonly bytes: number;
}

const NO_ENVIRONMENT: MeasuredEnvironment = { environment: null, bytes: 0 };
const measured = (environment: EnvironmentConfig | null): MeasuredEnvironment =>
  environment === null ? NO_ENVIRONMENT : { environment, bytes: Buffer.byteLength(JSON.stringify(environment)) };

type Principals = ReadonlyMap<string, PrincipalInfo>;

/** Schedules between two yields to the event loop: computing due times is slow, and other requests wait. */
const ITEMS_PER_YIELD = 20;

@Injectable()
export class SchedulePresenter {
  constructor(
    private readonly directory: PrincipalDirectory,
    private readonly environments: EnvironmentDirectory,
    private readonly agents: AgentDirectory,
  ) {}

  async one(caller: Caller, schedule: Schedule): Promise<ScheduledAgentItem> {
    const [item] = await this.present(caller, [schedule], 0);
    if (!item) throw new Error('A schedule was not presented.');
    return item;
  }

  list(caller: Caller, schedules: readonly ListedSchedule[]): Promise<ScheduledAgentItem[]> {
    const bytes = schedules.reduce((sum, { listedBytes }) => sum + listedBytes, 0);
    return this.present(caller, schedules, bytes);
  }

  /** One query for all principals, and one for each distinct environment and identity. `bytes`: those of the schedules without environments. */
  private async present(caller: Caller, schedules: readonly Schedule[], bytes: number): Promise<ScheduledAgentItem[]> {
    const principals = await this.directory.describe(schedules.flatMap((one) => [one.createdBy, one.updatedBy]));
    const known = new Map<string, MeasuredEnvironment>();
    const items: ScheduledAgentItem[] = [];
    let total = bytes;
    for (const schedule of schedules) {
      const key = `${schedule.owner.teamUid} ${schedule.agentConfig?.environment_id} ${schedule.agentIdentityUid}`;
      // Many schedules may have the same environment, and each repeats it.
      const isFull = total >= MAX_LISTED_BYTES;
      const found = isFull ? NO_ENVIRONMENT : (known.get(key) ?? measured(await this.environmentOf(caller, schedule)));
      if (!isFull) known.set(key, found);
      total += found.bytes;
      items.push(toItem(schedule, principals, found.environment));
      if (items.length % ITEMS_PER_YIELD === 0) await setImmediate();
    }
    return items;
  }

  /** As when a run is created: the environment of the configuration, else of the identity. Null when the caller may not see it. */
  private async environmentOf(
    caller: Caller,
    { owner: { teamUid }, agentConfig, agentIdentityUid }: Schedule,
  ): Promise<EnvironmentConfig | null> {
    const uid = agentConfig?.environment_id ?? (await this.identityEnvironment(teamUid, agentIdentityUid));
    if (uid === null) return null;
    const environment = await this.environments.findVisible(uid, caller);
    return environment && shownConfig(environment.config);
  }

  private async identityEnvironment(teamUid: string | null, uid: string | null): Promise<string | null> {
    if (uid === null || teamUid === null) return null;
    return (await this.agents.findIdentity(uid, teamUid))?.environmentId ?? null;
  }
}

function toItem(schedule: Schedule, principals: Principals, environment: EnvironmentConfig | null): ScheduledAgentItem {
  const { owner, agentConfig, agentIdentityUid, metadata, nextDueAt, createdBy, updatedBy } = schedule;
  return {
    id: schedule.uid,
    name: schedule.name,
    cron_schedule: schedule.cronSchedule,
    timezone: schedule.timezone,
    prompt: schedule.prompt,
    enabled: schedule.enabled,
    paused_reason: schedule.pausedReason,
    mode: schedule.mode,
    overlap_policy: schedule.overlapPolicy,
    jitter_seconds: schedule.jitterSeconds,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
    created_by: principals.get(createdBy.uid) ?? createdBy,
    updated_by: principals.get(updatedBy.uid) ?? updatedBy,
    ...(agentConfig !== null && { agent_config: maskConfig(agentConfig) }),
    ...(agentIdentityUid !== null && { agent_uid: agentIdentityUid }),
    ...(metadata !== null && { metadata: { ...metadata } }),
    ...(environment !== null && { environment }),
    history: {
      last_ran: schedule.lastRanAt?.toISOString() ?? null,
      next_run: nextDueAt?.toISOString() ?? null,
      upcoming: upcomingOf(schedule).map((time) => time.toISOString()),
    },
    last_spawn_error: schedule.lastSpawnError,
    scope: owner.teamUid === null ? { type: 'User', uid: owner.userUid } : { type: 'Team', uid: owner.teamUid },
  };
}

function upcomingOf({ nextDueAt, cronSchedule, timezone }: Schedule): Date[] {
  if (nextDueAt === null) return [];
  const parsed = parseCron(cronSchedule, timezone);
  return parsed.kind === 'valid' ? [nextDueAt, ...parsed.cron.upcoming(nextDueAt, UPCOMING - 1)] : [nextDueAt];
}
