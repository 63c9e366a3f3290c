import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Caller, TeamDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import {
  ArtifactsService,
  type Concurrent,
  type ConcurrencyPolicy,
  ConfigSecrets,
  continueOrCreate,
  DEFAULT_DELAY_SECONDS,
  CreateRun,
  type CreateRunResult,
  launchRefusal,
  SubmitFollowup,
} from '#domain/runs';
import { FIRING_SKILL_WAIT_MS } from '#domain/schedules';
import { EVENT_PAYLOAD_FILE, nextEventPayloadFile } from '#execution/runner-protocol';
import { concurrencyKeys } from '../domain/concurrency.js';
import { envelope } from '../domain/envelope.js';
import { secretsOf } from '../domain/automation.js';
import type { TriggerEvent } from '../domain/trigger.js';
import type { FiringAutomation } from '../persistence/firing.store.js';

export type LaunchResult =
  | { readonly kind: 'launched'; readonly runId: string }
  /** A run got the event as a follow-up. */
  | { readonly kind: 'continued'; readonly runId: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** Starts or continues the run of an automation for an event, or returns the run for which that was done before. */
@Injectable()
export class LaunchRun {
  constructor(
    private readonly createRun: CreateRun,
    private readonly followups: SubmitFollowup,
    private readonly artifacts: ArtifactsService,
    private readonly teams: TeamDirectory,
    private readonly secrets: ConfigSecrets,
    private readonly settings: Settings,
  ) {}

  /** Runs that the event has started or continued before, by the uid of their automation. One round trip, two with a target. */
  async findStarted(uids: readonly string[], event: TriggerEvent): Promise<ReadonlyMap<string, string>> {
    const keys = new Map(uids.map((uid) => [launchKey(uid, event), uid]));
    const runs = new Map<string, string>();
    const known = [...keys.keys()];
    const found = await Promise.all([
      this.createRun.findLaunched(known),
      // Only these continue runs.
      ...(event.target ? [this.followups.findLaunched(known)] : []),
    ]);
    for (const launched of found) for (const [key, runId] of launched) runs.set(keys.get(key) ?? '', runId);
    return runs;
  }

  /** Throws only for faults: a configuration that the run may not use is a result, which no retry would change. */
  async execute(automation: FiringAutomation, event: TriggerEvent): Promise<LaunchResult> {
    const author = await this.teams.authorOf(automation.author, event.teamUid);
    const { concurrency } = automation;
    if (concurrency === null && event.target === undefined)
      return launchResult(await this.createRun.execute(author, this.commandOf(automation, event)));
    const { policy: chosen = event.target?.defaultPolicy ?? 'allow' } = concurrency ?? {};
    // Events without a target always start a run.
    const policy = chosen === 'continue' && event.target === undefined ? 'allow' : chosen;
    const create = async (replaces: string | null): Promise<LaunchResult | Concurrent> => {
      const created = await this.create(author, automation, event, policy, replaces);
      return created.kind === 'concurrent' ? created : launchResult(created);
    };
    if (policy === 'continue') {
      const creator = await this.creatorOf(event);
      const continueRun = (runId: string): Promise<LaunchResult | null> =>
        this.continue(author, runId, automation, event);
      const continued = creator === null ? null : await continueRun(creator);
      return continued ?? continueOrCreate(creator, create, continueRun);
    }
    const launched = await create(null);
    if (launched.kind !== 'concurrent') return launched;
    const why = policy === 'skip' ? 'for the same key is active' : 'is for a newer event';
    return { kind: 'refused', reason: `The run ${launched.runId} ${why}.` };
  }

  private create(
    author: Caller,
    automation: FiringAutomation,
    event: TriggerEvent,
    policy: ConcurrencyPolicy,
    replaces: string | null,
  ) {
    const keys = concurrencyKeys(automation, event);
    const delayMs = 1000 * (automation.concurrency?.delaySeconds ?? DEFAULT_DELAY_SECONDS);
    const concurrency = { ...keys, policy, replaces, eventAt: event.occurredAt, delayMs };
    return this.createRun.executeConcurrent(author, this.commandOf(automation, event), concurrency);
  }

  private commandOf(automation: FiringAutomation, event: TriggerEvent) {
    const { uid, name, agentConfig, agentIdentityUid } = automation;
    const mark = randomBytes(12).toString('hex');
    const repository = automation.eventRepository ? event.repository : undefined;
    return {
      prompt: envelope({ automation: { name, uid }, prompt: automation.prompt, event, mark }),
      submittedPrompt: automation.prompt,
      // Text from outside never becomes part of the instructions of a skill.
      skillArguments: automation.prompt,
      title: name,
      team: true,
      source: event.source,
      automaticMetadata: { ...event.labels, automation_id: uid, factory_uid: event.factoryUid },
      launchKey: launchKey(uid, event),
      idempotency: null,
      ...((agentConfig !== null || repository !== undefined) && {
        config: {
          ...(agentConfig !== null && this.secrets.open(secretsOf(uid), agentConfig)),
          ...(repository !== undefined && { repository }),
        },
      }),
      ...(agentIdentityUid !== null && { agentIdentityUid }),
      ...(event.payload !== null && {
        attachments: [{ fileName: EVENT_PAYLOAD_FILE, mimeType: PAYLOAD_TYPE, content: event.payload }],
      }),
      triggerUrl:
        event.triggerUrl ?? `${this.settings.publicUrl}/api/v1/factories/${event.factoryUid}/automations/${uid}`,
      ...(event.schedule !== null && { schedule: event.schedule }),
      // The timer is locked during this time.
      ...(event.source === 'SCHEDULED_AGENT' && { skillWaitMs: FIRING_SKILL_WAIT_MS }),
    };
  }

  /** The run that has created the pull request of the event, whichever automation or person has started it. */
  private async creatorOf({ target, teamUid }: TriggerEvent): Promise<string | null> {
    return target?.url == null ? null : this.artifacts.runOfPullRequest(teamUid, target.url);
  }

  /** Null when the run cannot be continued. */
  private async continue(
    author: Caller,
    runId: string,
    automation: FiringAutomation,
    event: TriggerEvent,
  ): Promise<LaunchResult | null> {
    const { uid, name, concurrency } = automation;
    const limit = concurrency?.maxFollowups ?? null;
    const id = (event.labels.delivery_id ?? newUuid()).slice(-12);
    const payloadFile = nextEventPayloadFile(id);
    const files =
      event.payload === null ? [] : [{ fileName: payloadFile, mimeType: PAYLOAD_TYPE, content: event.payload }];
    const mark = randomBytes(12).toString('hex');
    const result = await this.followups.execute(author, runId, {
      message: envelope({ automation: { name, uid }, prompt: automation.prompt, event, payloadFile, mark }),
      mode: null,
      attachments: [],
      files,
      launchKey: launchKey(uid, event),
      ...(limit !== null && { launchLimit: { prefix: `automation/${uid}/`, max: limit } }),
    });
    switch (result.kind) {
      case 'accepted':
        return { kind: 'continued', runId };
      case 'not_found':
      case 'nothing_to_continue':
      case 'too_many_files':
        return null;
      case 'too_many':
        return { kind: 'refused', reason: `The run ${runId} already has too many messages that wait.` };
      case 'over_budget':
        return { kind: 'refused', reason: `The run ${runId} cannot be continued: ${result.reason}` };
      case 'not_authorized':
        return { kind: 'refused', reason: `The run ${runId} cannot be continued: ${result.detail}` };
      case 'forbidden':
        return { kind: 'refused', reason: `The author of the automation may not continue the run ${runId}.` };
      default:
        throw new Error(`The run ${runId} did not get the event: ${result.kind}.`);
    }
  }
}

const PAYLOAD_TYPE = 'application/json';
/** Permanent key of the run or follow-up of an automation for an event. */
export const launchKey = (uid: string, event: TriggerEvent): string => `automation/${uid}/${event.key}`;

function launchResult(result: CreateRunResult): LaunchResult {
  if (result.kind === 'created') return { kind: 'launched', runId: result.runId };
  const { kind, reason } = launchRefusal(result);
  // A fault: the event is fired again.
  if (kind === 'unavailable') throw new Error(reason);
  return { kind, reason };
}
