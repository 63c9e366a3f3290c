import { Injectable } from '@nestjs/common';
import { type Caller, TeamDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { ConfigSecrets, CreateRun, type CreateRunResult, type LaunchRefusal, launchRefusal } from '#domain/runs';
import { type Schedule, secretsOf } from '../domain/schedule.js';

/** How long a firing waits for repositories of skills. They are read further meanwhile, and the retry finds them. */
export const FIRING_SKILL_WAIT_MS = 2_000;

export type ScheduleLaunch = { readonly kind: 'started'; readonly runId: string } | LaunchRefusal;

@Injectable()
export class ScheduleLauncher {
  constructor(
    private readonly createRun: CreateRun,
    private readonly teams: TeamDirectory,
    private readonly secrets: ConfigSecrets,
    private readonly settings: Settings,
  ) {}

  /**
   * For a due time, in the name of the principal that saved the schedule last. Returns the run that was started for the same
   * due time before, if there is one. Throws on faults only.
   */
  async launchDue(schedule: Schedule, dueAt: Date): Promise<ScheduleLaunch> {
    const launchKey = `schedule/${schedule.uid}/${dueAt.toISOString()}`;
    const author = await this.teams.authorOf(schedule.updatedBy, schedule.owner.teamUid);
    const result = await this.create(author, schedule, { launchKey, skillWaitMs: FIRING_SKILL_WAIT_MS });
    return result.kind === 'created' ? { kind: 'started', runId: result.runId } : launchRefusal(result);
  }

  launchNow(caller: Caller, schedule: Schedule): Promise<CreateRunResult> {
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
      triggerUrl: `${this.settings.publicUrl}/api/v1/agent/schedules/${uid}`,
      idempotency: null,
      ...(agentConfig !== null && { config: this.secrets.open(secretsOf(uid), agentConfig) }),
      ...(agentIdentityUid !== null && { agentIdentityUid }),
      ...(metadata !== null && { metadata }),
    });
  }
}
