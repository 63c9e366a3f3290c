import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { type Caller, TeamDirectory } from '#platform/auth';
import { notAccessible, type RejectionOf } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ConfigReferences, ConfigSecrets, PersonalRunPolicy, type RunOwner } from '#domain/runs';
import { type Cron, isTimeZone, parseCron } from '#platform/timers';
import { MAX_AGENT_CONFIG_BYTES, type Schedule, type ScheduleFields, secretsOf } from '../domain/schedule.js';

type RequiredField = 'name' | 'cronSchedule' | 'prompt' | 'enabled';

/** A schedule as a request describes it; absent fields get their defaults. `agentConfig` undefined: the stored one is kept. */
export type RequestedSchedule = Pick<ScheduleFields, RequiredField> & Partial<Omit<ScheduleFields, RequiredField>>;

/** The caller may not start such runs; `detail` is a sentence. */
type NotAuthorized = { readonly kind: 'not_authorized'; readonly detail: string };
/** `feature_not_available`: schedules are disabled for the team. */
export type UnavailableSchedules = NotAuthorized | { readonly kind: 'feature_not_available' };
export type ScheduleInputRejection = RejectionOf<'invalid' | 'too_large'> | NotAuthorized;

/** The rules of schedules. References are resolved through the caller's permissions. */
@Injectable()
export class ScheduleValidator {
  constructor(
    private readonly configs: ConfigReferences,
    private readonly agents: AgentDirectory,
    private readonly secrets: ConfigSecrets,
    private readonly teams: TeamDirectory,
    private readonly personalRuns: PersonalRunPolicy,
  ) {}

  /**
   * `stored`: the schedule that is replaced; a reference that it has already stays valid, although the caller could not set it
   * now. References are resolved in `queryable`.
   */
  async validate(
    queryable: Queryable,
    caller: Caller,
    uid: string,
    owner: RunOwner,
    requested: RequestedSchedule,
    stored: Schedule | null,
  ): Promise<{ readonly fields: ScheduleFields; readonly cron: Cron } | ScheduleInputRejection> {
    const { name, cronSchedule, prompt, enabled, timezone = 'UTC', agentIdentityUid = null } = requested;
    const { mode = 'normal', metadata = null, overlapPolicy = 'allow', jitterSeconds = 0 } = requested;
    const cron = readCron(cronSchedule, timezone);
    if ('kind' in cron) return cron;
    const agentConfig = requested.agentConfig === undefined ? (stored?.agentConfig ?? null) : requested.agentConfig;
    const isNewConfig = requested.agentConfig !== undefined && agentConfig !== null;
    if (isNewConfig && Buffer.byteLength(JSON.stringify(agentConfig)) > MAX_AGENT_CONFIG_BYTES)
      return {
        kind: 'too_large',
        pointer: '/agent_config',
        detail: `must not exceed ${MAX_AGENT_CONFIG_BYTES} bytes as JSON`,
      };
    const rejection =
      (isNewConfig ? await this.checkConfig(queryable, caller, owner, agentConfig, stored) : null) ??
      (await this.checkIdentity(queryable, owner, agentIdentityUid, stored));
    if (rejection) return rejection;
    const sealing = isNewConfig ? this.secrets.seal(secretsOf(uid), agentConfig, stored?.agentConfig ?? null) : null;
    if (sealing?.kind === 'invalid') return sealing;
    const input = { name, cronSchedule, timezone, prompt, enabled, mode, metadata, overlapPolicy, jitterSeconds };
    return { cron, fields: { ...input, agentIdentityUid, agentConfig: sealing ? sealing.value : agentConfig } };
  }

  /**
   * Why the caller may not start runs with schedules of this owner: the caller may not create personal runs, or the team has
   * disabled schedules. No round trip for a member of the team.
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
  ): Promise<ScheduleInputRejection | null> {
    const issues = await this.configs.check({ teamUid, caller }, config, queryable);
    const issue = issues.find(({ pointer }) => !isKept(pointer, config, stored?.agentConfig));
    return issue
      ? { kind: 'not_authorized', detail: `agent_config${issue.pointer.replaceAll('/', '.')} ${issue.detail}.` }
      : null;
  }

  private async checkIdentity(
    queryable: Queryable,
    { teamUid }: RunOwner,
    uid: string | null,
    stored: Schedule | null,
  ): Promise<ScheduleInputRejection | null> {
    if (uid === null || uid === stored?.agentIdentityUid) return null;
    if (teamUid === null)
      return { kind: 'invalid', issues: [{ pointer: '/agent_uid', detail: 'needs a schedule that the team owns' }] };
    const identity = await this.agents.findIdentity(uid, teamUid, queryable);
    return identity?.available === true
      ? null
      : { kind: 'not_authorized', detail: `agent_uid ${notAccessible('an agent identity')}.` };
  }
}

function readCron(expression: string, timezone: string): Cron | RejectionOf<'invalid'> {
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
