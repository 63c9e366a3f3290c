import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { type Caller, TeamDirectory } from '#platform/auth';
import { notAccessible } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ConfigReferences, ConfigSecrets, PersonalRunPolicy, type RunOwner } from '#domain/runs';
import { type Cron, isTimeZone, parseCron } from '../domain/cron/index.js';
import { MAX_AGENT_CONFIG_BYTES, type Schedule, type ScheduleFields, secretsOf } from '../domain/schedule.js';
import type { RequestedSchedule, ScheduleRefusal } from './schedule-outcomes.js';

export type CheckedSchedule =
  { readonly kind: 'valid'; readonly fields: ScheduleFields; readonly cron: Cron } | ScheduleRefusal;

export type UnavailableSchedules = Extract<ScheduleRefusal, { kind: 'not_authorized' | 'feature_not_available' }>;

/** The rules of schedules; what they refer to is followed through the caller's permissions. */
@Injectable()
export class ScheduleChecks {
  constructor(
    private readonly configs: ConfigReferences,
    private readonly agents: AgentDirectory,
    private readonly secrets: ConfigSecrets,
    private readonly teams: TeamDirectory,
    private readonly personalRuns: PersonalRunPolicy,
  ) {}

  /**
   * `stored`: what it is to replace; whatever it had it may keep, though it could not be given it now. References are
   * followed in `queryable`.
   */
  async check(
    queryable: Queryable,
    caller: Caller,
    uid: string,
    owner: RunOwner,
    asked: RequestedSchedule,
    stored: Schedule | null,
  ): Promise<CheckedSchedule> {
    const timezone = asked.timezone ?? 'UTC';
    const cron = readCron(asked.cronSchedule, timezone);
    if ('kind' in cron) return cron;
    const agentConfig = asked.agentConfig === undefined ? (stored?.agentConfig ?? null) : asked.agentConfig;
    const isNewConfig = asked.agentConfig !== undefined && agentConfig !== null;
    if (isNewConfig && Buffer.byteLength(JSON.stringify(agentConfig)) > MAX_AGENT_CONFIG_BYTES)
      return {
        kind: 'too_large',
        pointer: '/agent_config',
        detail: `must not exceed ${MAX_AGENT_CONFIG_BYTES} bytes as JSON`,
      };
    const agentIdentityUid = asked.agentIdentityUid ?? null;
    const refusal =
      (isNewConfig ? await this.checkConfig(queryable, caller, owner, agentConfig, stored) : null) ??
      (await this.checkIdentity(queryable, owner, agentIdentityUid, stored));
    if (refusal) return refusal;
    const sealing = isNewConfig ? this.secrets.seal(secretsOf(uid), agentConfig, stored?.agentConfig ?? null) : null;
    if (sealing?.kind === 'invalid') return sealing;
    return {
      kind: 'valid',
      cron,
      fields: {
        name: asked.name,
        cronSchedule: asked.cronSchedule,
        timezone,
        prompt: asked.prompt,
        enabled: asked.enabled,
        agentConfig: sealing ? sealing.value : agentConfig,
        agentIdentityUid,
        mode: asked.mode ?? 'normal',
        metadata: asked.metadata ?? null,
        overlapPolicy: asked.overlapPolicy ?? 'allow',
        jitterSeconds: asked.jitterSeconds ?? 0,
      },
    };
  }

  /**
   * Why the caller may not have schedules of this owner start runs: personal runs are not for them, or the team has
   * switched schedules off. No round trip for a member of the team.
   */
  async unavailable(caller: Caller, owner: RunOwner): Promise<UnavailableSchedules | null> {
    const { teamUid } = owner;
    const refused = this.personalRuns.refusal(caller, owner);
    if (refused !== null) return { kind: 'not_authorized', detail: refused };
    if (teamUid === null) return null;
    const team =
      caller.principal.memberships.find((membership) => membership.teamUid === teamUid)?.team ??
      (await this.teams.settings(teamUid));
    return team.features.schedules ? null : { kind: 'feature_not_available' };
  }

  private async checkConfig(
    queryable: Queryable,
    caller: Caller,
    { teamUid }: RunOwner,
    config: NonNullable<ScheduleFields['agentConfig']>,
    stored: Schedule | null,
  ): Promise<ScheduleRefusal | null> {
    const faults = await this.configs.check({ teamUid, caller }, config, queryable);
    const fault = faults.find(({ pointer }) => !isKept(pointer, config, stored?.agentConfig));
    return fault
      ? { kind: 'not_authorized', detail: `agent_config${fault.pointer.replaceAll('/', '.')} ${fault.detail}.` }
      : null;
  }

  private async checkIdentity(
    queryable: Queryable,
    { teamUid }: RunOwner,
    uid: string | null,
    stored: Schedule | null,
  ): Promise<ScheduleRefusal | null> {
    if (uid === null || uid === stored?.agentIdentityUid) return null;
    if (teamUid === null)
      return { kind: 'invalid', issues: [{ pointer: '/agent_uid', detail: 'needs a schedule that the team owns' }] };
    const identity = await this.agents.findIdentity(uid, teamUid, queryable);
    return identity?.available === true
      ? null
      : { kind: 'not_authorized', detail: `agent_uid ${notAccessible('an agent identity')}.` };
  }
}

function readCron(expression: string, timezone: string): Cron | ScheduleRefusal {
  if (!isTimeZone(timezone)) {
    const detail = 'must be the IANA name of a time zone, such as Europe/Berlin';
    return { kind: 'invalid', issues: [{ pointer: '/timezone', detail }] };
  }
  const parsed = parseCron(expression, timezone);
  return parsed.kind === 'valid'
    ? parsed.cron
    : { kind: 'invalid', issues: [{ pointer: '/cron_schedule', detail: parsed.detail }] };
}

function isKept(pointer: string, config: object, stored: object | null | undefined): boolean {
  const [, key = ''] = pointer.split('/');
  return (
    stored !== null && stored !== undefined && isDeepStrictEqual(Reflect.get(config, key), Reflect.get(stored, key))
  );
}
