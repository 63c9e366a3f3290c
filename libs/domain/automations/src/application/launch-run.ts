import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TeamDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { ConfigSecrets, CreateRun, type CreateRunResult, launchRefusal } from '#domain/runs';
import { FIRING_SKILL_WAIT_MS } from '#domain/schedules';
import { envelope, PAYLOAD_FILE } from '../domain/envelope.js';
import { secretsOf } from '../domain/automation.js';
import type { TriggerEvent } from '../domain/trigger.js';
import type { FiringAutomation } from '../persistence/firing.store.js';

export type LaunchResult =
  | { readonly kind: 'launched'; readonly runId: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** Starts the run of an automation for an event, or returns the run that was started for it before. */
@Injectable()
export class LaunchRun {
  constructor(
    private readonly createRun: CreateRun,
    private readonly teams: TeamDirectory,
    private readonly secrets: ConfigSecrets,
    private readonly settings: Settings,
  ) {}

  /** Runs that the event has started before, by the uid of their automation. One round trip. */
  async findStarted(uids: readonly string[], event: TriggerEvent): Promise<ReadonlyMap<string, string>> {
    const keys = new Map(uids.map((uid) => [launchKey(uid, event), uid]));
    const runs = new Map<string, string>();
    for (const [key, runId] of await this.createRun.findLaunched([...keys.keys()]))
      runs.set(keys.get(key) ?? '', runId);
    return runs;
  }

  /** Throws only for faults: a configuration that the run may not use is a result, which no retry would change. */
  async execute(automation: FiringAutomation, event: TriggerEvent): Promise<LaunchResult> {
    const { uid, name, agentConfig, agentIdentityUid } = automation;
    const mark = randomBytes(12).toString('hex');
    const prompt = envelope({ automation: { name, uid }, prompt: automation.prompt, event, mark });
    const result = await this.createRun.execute(await this.teams.authorOf(automation.author, event.teamUid), {
      prompt,
      submittedPrompt: automation.prompt,
      // Text from outside never becomes part of the instructions of a skill.
      skillArguments: automation.prompt,
      title: name,
      team: true,
      source: event.source,
      automaticMetadata: { ...event.labels, automation_id: uid, factory_uid: event.factoryUid },
      launchKey: launchKey(uid, event),
      idempotency: null,
      ...(agentConfig !== null && { config: this.secrets.open(secretsOf(uid), agentConfig) }),
      ...(agentIdentityUid !== null && { agentIdentityUid }),
      ...(event.payload !== null && {
        attachments: [{ fileName: PAYLOAD_FILE, mimeType: 'application/json', content: event.payload }],
      }),
      triggerUrl:
        event.triggerUrl ?? `${this.settings.publicUrl}/api/v1/factories/${event.factoryUid}/automations/${uid}`,
      ...(event.schedule !== null && { schedule: event.schedule }),
      // The timer is locked during this time.
      ...(event.source === 'SCHEDULED_AGENT' && { skillWaitMs: FIRING_SKILL_WAIT_MS }),
    });
    return launchResult(result);
  }
}

const launchKey = (uid: string, event: TriggerEvent): string => `automation/${uid}/${event.key}`;

function launchResult(result: CreateRunResult): LaunchResult {
  if (result.kind === 'created') return { kind: 'launched', runId: result.runId };
  const { kind, reason } = launchRefusal(result);
  // A fault: the event is fired again.
  if (kind === 'unavailable') throw new Error(reason);
  return { kind, reason };
}
