import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Caller, ownerFor } from '#platform/auth';
import { newUuid, shortKey } from '#platform/kernel';
import type { RunState } from '#execution/executions';
import { RunInserts, type ScopedClaim } from '../persistence/run-inserts.js';
import { type ConcurrencyPolicy, continueOrCreate } from './concurrent-runs.js';
import { claimOf, CreateRun, type CreateRunCommand, type CreateRunResult } from './create-run.js';
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
  /** Another run of the key prevents a new one. */
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
    private readonly inserts: RunInserts,
    private readonly runs: RunsService,
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
      eventAt: null,
    };
    if (policy !== 'continue') return this.createRun.executeConcurrent(caller, command, concurrency);
    const owner = ownerFor(caller, command.team);
    const claim = owner && claimOf(caller, owner, command);
    const known = claim && (await this.findContinued(caller, claim));
    if (known) return known;
    return continueOrCreate<CreateKeyedRunResult>(
      null,
      (replaces) => this.createRun.executeConcurrent(caller, command, { ...concurrency, replaces }),
      (runId) => this.continue(caller, runId, command, claim),
    );
  }

  /** Null when the run cannot be continued. */
  private async continue(
    caller: Caller,
    runId: string,
    { prompt, mode, attachments: files }: CreateRunCommand,
    claim: ScopedClaim | null,
  ): Promise<CreateKeyedRunResult | null> {
    const launchKey = claim ? launchKeyOf(claim) : `request/${newUuid()}`;
    const input = { message: prompt, mode: mode ?? null, attachments: [], files, claim, launchKey };
    const sent = await this.followups.execute(caller, runId, input);
    if (sent.kind === 'repeated')
      return claim && ((await this.findContinued(caller, claim)) ?? this.inserts.find(claim));
    if (sent.kind === 'accepted') return this.continued(caller, runId);
    return CANNOT_CONTINUE.includes(sent.kind) ? null : { kind: 'not_continued', runId, reason: sent };
  }

  /** The answer to the same request before, if it was a follow-up. */
  private async findContinued(caller: Caller, claim: ScopedClaim): Promise<CreateKeyedRunResult | null> {
    const known = await this.inserts.find(claim);
    if (known?.kind !== 'created') return null;
    const launchKey = launchKeyOf(claim);
    const continued = (await this.followups.findLaunched([launchKey])).get(launchKey);
    return continued === undefined ? null : this.continued(caller, continued);
  }

  private async continued(caller: Caller, runId: string): Promise<CreateKeyedRunResult | null> {
    const found = await this.runs.find(caller, runId);
    return found.kind === 'found' ? { kind: 'continued', runId, state: found.run.state } : null;
  }
}

/** Of the follow-up that was sent for the request with this idempotency key. */
const launchKeyOf = ({ scope, key }: ScopedClaim): string =>
  `request/${createHash('sha256').update(`${scope}/${key}`).digest('hex')}`;
