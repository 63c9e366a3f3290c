import { Injectable } from '@nestjs/common';
import { type Caller, TeamDirectory } from '#libs/auth';
import { ConfigSecrets, CreateRun, type CreateRunResult } from '#libs/runs';
import { type Schedule, secretsOf } from '../domain/schedule.js';
import { FIRING_SKILL_WAIT_MS } from './firing-limits.js';

export type ScheduleLaunch =
  | { readonly kind: 'started'; readonly runId: string }
  /** No run can be had, now and later, until somebody changes something. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Something outside of the service does not answer; perhaps it does in a while. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Starts a schedule's run for a due time; started for it before, that run is what is returned. */
@Injectable()
export class LaunchSchedule {
  constructor(
    private readonly createRun: CreateRun,
    private readonly teams: TeamDirectory,
    private readonly secrets: ConfigSecrets,
  ) {}

  /** Throws on faults only. */
  async execute(schedule: Schedule, dueAt: Date): Promise<ScheduleLaunch> {
    const launchKey = `schedule/${schedule.uid}/${dueAt.toISOString()}`;
    const result = await this.create(await this.authorOf(schedule), schedule, {
      launchKey,
      skillWaitMs: FIRING_SKILL_WAIT_MS,
    });
    return result.kind === 'created' ? { kind: 'started', runId: result.runId } : refusalOf(result);
  }

  /** Out of turn, for whoever asks. */
  async now(caller: Caller, schedule: Schedule): Promise<CreateRunResult> {
    return this.create(caller, schedule, {});
  }

  private create(
    caller: Caller,
    schedule: Schedule,
    launch: { readonly launchKey?: string; readonly skillWaitMs?: number },
  ): Promise<CreateRunResult> {
    const { uid, name, cronSchedule, prompt, owner, agentConfig, agentIdentityUid, metadata, mode } = schedule;
    return this.createRun.execute(caller, {
      ...launch,
      prompt,
      title: name,
      mode,
      team: owner.teamUid !== null,
      source: 'SCHEDULED_AGENT',
      schedule: { schedule_id: uid, schedule_name: name, cron_schedule: cronSchedule },
      idempotency: null,
      ...(agentConfig !== null && { config: this.secrets.open(secretsOf(uid), agentConfig) }),
      ...(agentIdentityUid !== null && { agentIdentityUid }),
      ...(metadata !== null && { metadata }),
    });
  }

  /** Whoever saved the schedule has started its runs, as a member of the team even after leaving it. */
  private async authorOf({ owner: { teamUid }, updatedBy }: Schedule): Promise<Caller> {
    const team = teamUid === null ? null : await this.teams.settings(teamUid);
    return {
      principal: {
        type: updatedBy.type,
        uid: updatedBy.uid,
        displayName: '',
        memberships: teamUid === null || team === null ? [] : [{ teamUid, role: 'member', team }],
        tokenUid: '',
      },
      teamUid,
      teamUids: teamUid === null ? [] : [teamUid],
    };
  }
}

function refusalOf(refused: Exclude<CreateRunResult, { kind: 'created' }>): ScheduleLaunch {
  switch (refused.kind) {
    case 'unavailable':
      return { kind: 'unavailable', reason: `${fieldOf(refused.pointer)} ${refused.detail}` };
    case 'invalid':
    case 'too_large':
      return { kind: 'refused', reason: `${fieldOf(refused.pointer)} ${refused.detail}` };
    case 'not_authorized':
      return { kind: 'refused', reason: refused.detail };
    case 'conversation_busy':
    case 'key_reused':
      return { kind: 'refused', reason: refused.kind };
  }
}

const fieldOf = (pointer: string): string => pointer.slice(1).replaceAll('/', '.');
