import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor } from '#platform/auth';
import { Clock, newUuid, shortKey } from '#platform/kernel';
import { sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import { type RunState, slotKey } from '#execution/executions';
import { type ConcurrencyPolicy, continueOrCreate } from './concurrent-runs.js';
import { CreateRun, type CreateRunCommand, type CreateRunResult } from './create-run.js';
import { FollowupAttachments } from './followup-attachments.js';
import { RunsService } from './runs.service.js';
import { SubmitFollowup, type SubmitFollowupResult } from './submit-followup.js';

export const REQUEST_POLICIES = [
  'skip',
  'supersede',
  'continue',
  'queue',
  'debounce',
] as const satisfies readonly ConcurrencyPolicy[];

export interface RequestedConcurrency {
  /** Of the caller, at most 500 characters. */
  readonly key: string;
  readonly policy: (typeof REQUEST_POLICIES)[number];
  /** With `debounce`. Milliseconds. */
  readonly delayMs: number;
}

export type CreateKeyedRunResult =
  | CreateRunResult
  /** Another run of the key prevents a new one: it is active, or it is for a newer request. */
  | { readonly kind: 'concurrent'; readonly runId: string }
  /** The run got the prompt as a follow-up. */
  | { readonly kind: 'continued'; readonly runId: string; readonly state: RunState }
  | { readonly kind: 'not_continued'; readonly runId: string; readonly reason: Refusal };

type Refusal = Exclude<SubmitFollowupResult, { kind: 'accepted' }>;

const MAX_PLAIN_KEY = 300;
/** With these another run is started in place of the newest one. */
const CANNOT_CONTINUE: readonly Refusal['kind'][] = ['not_found', 'nothing_to_continue', 'too_many_files'];

/** Creates a run under a key of the caller, who decides what happens to the other runs with the key. */
@Injectable()
export class CreateKeyedRun {
  constructor(
    private readonly createRun: CreateRun,
    private readonly followups: SubmitFollowup,
    private readonly attachments: FollowupAttachments,
    private readonly runs: RunsService,
    private readonly clock: Clock,
  ) {}

  async execute(
    caller: Caller,
    command: CreateRunCommand,
    { key, policy, delayMs }: RequestedConcurrency,
  ): Promise<CreateKeyedRunResult> {
    const concurrency = {
      key: `request/${shortKey(key, MAX_PLAIN_KEY)}`,
      sharedKey: null,
      policy,
      delayMs,
      eventAt: this.clock.now(),
    };
    if (policy !== 'continue') return this.createRun.executeConcurrent(caller, command, concurrency);
    const launchKey = launchKeyOf(caller, command);
    const known = command.idempotency && (await this.findContinued(caller, launchKey));
    if (known) return known;
    return continueOrCreate<CreateKeyedRunResult>(
      null,
      (replaces) => this.createRun.executeConcurrent(caller, command, { ...concurrency, replaces }),
      (runId) => this.continue(caller, runId, command, launchKey),
    );
  }

  /** Null when the run cannot be continued. */
  private async continue(
    caller: Caller,
    runId: string,
    { prompt, mode, attachments = [] }: CreateRunCommand,
    launchKey: string,
  ): Promise<CreateKeyedRunResult | null> {
    const message = { message: prompt, mode: mode ?? null, launchKey };
    try {
      const files = await this.attachments.store(runId, attachments);
      const sent = await this.followups.execute(caller, runId, { ...message, attachments: files });
      if (sent.kind !== 'accepted')
        return CANNOT_CONTINUE.includes(sent.kind) ? null : { kind: 'not_continued', runId, reason: sent };
    } catch (error) {
      // The same request was accepted at the same time.
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    }
    return this.findContinued(caller, launchKey);
  }

  private async findContinued(caller: Caller, launchKey: string): Promise<CreateKeyedRunResult | null> {
    const runId = (await this.followups.findLaunched([launchKey])).get(launchKey);
    const found = runId === undefined ? null : await this.runs.find(caller, runId);
    return found?.kind === 'found' ? { kind: 'continued', runId: found.run.id, state: found.run.state } : null;
  }
}

/** Of a follow-up in place of a run: a repeated request with the same idempotency key sends none again. */
function launchKeyOf(caller: Caller, { idempotency, team }: CreateRunCommand): string {
  const owner = ownerFor(caller, team);
  const scope = owner === null ? '' : slotKey(owner);
  return idempotency === null
    ? `request/${newUuid()}`
    : `request/${shortKey(`${scope}/${caller.principal.uid}/${idempotency.key}/${idempotency.requestHash.toString('hex')}`, 0)}`;
}
