import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { newUuid, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import {
  type Execution,
  ExecutionsStore,
  ExecutionTokens,
  EXTERNAL_POOL,
  type FollowupOutcome,
  type FollowupSession,
  FollowupsStore,
  hasLimits,
  PLACE_RUNS_TASK,
  reachedLimit,
  routeFollowup,
  STOP_FENCE_MS,
  RunLimitsStore,
  RunLogStore,
  RunTransitions,
  SnapshotsStore,
} from '#execution/executions';
import type { Run, RunMode } from '../domain/run.js';
import { type AttachmentChoice, FollowupAttachments } from './followup-attachments.js';
import { PersonalRunPolicy } from './personal-run-policy.js';
import { RunEnvironmentPolicy } from './run-environment-policy.js';
import { RunsService } from './runs.service.js';
import type { AttachmentInput } from '../domain/attachment.js';
import { RunInserts, type ScopedClaim } from '../persistence/run-inserts.js';

/** Rolls the transaction back: the idempotency key was used before. */
class RepeatedError extends Error {}

export type SubmitFollowupResult =
  | {
      readonly kind: 'accepted';
      readonly followupId: string;
      readonly outcome: FollowupOutcome;
      /** The execution that the caller's runner claims. */
      readonly executionId?: string;
    }
  /** Of an external follow-up: the run has an execution, which works, or ends soon; or it has no files to continue with. */
  | { readonly kind: 'in_progress' | 'session_closing' | 'no_snapshot' }
  | { readonly kind: 'over_budget'; readonly reason: string }
  | { readonly kind: 'not_authorized'; readonly detail: string }
  | { readonly kind: 'empty_message' | 'nothing_to_continue' | 'too_many' | 'too_many_files' }
  | { readonly kind: 'unknown_attachment'; readonly index: number }
  /** The idempotency key was used before. */
  | { readonly kind: 'repeated' }
  | RejectionOf<'not_found' | 'forbidden'>;

export interface FollowupInput {
  readonly message: string;
  readonly mode: RunMode | null;
  readonly attachments: readonly AttachmentChoice[];
  /** Files that are not stored yet, beside `attachments`. */
  readonly files?: readonly AttachmentInput[];
  /** The idempotency key of the request, which is claimed with the follow-up. */
  readonly claim?: ScopedClaim | null;
  /** The caller executes it, on another machine. */
  readonly isExternal?: boolean;
  /** Names what the service sends it for by itself, as that of a run. The caller has looked for it with {@link SubmitFollowup.findLaunched}. */
  readonly launchKey?: string;
  /** The run gets at most `max` follow-ups whose launch key begins with `prefix`. */
  readonly launchLimit?: { readonly prefix: string; readonly max: number };
}

/** Follow-ups that may wait for one run. More of them indicate a client in an endless loop. */
export const MAX_PENDING_FOLLOWUPS = 100;
/** Of their messages together: every reader of the run reads them. */
export const MAX_PENDING_BYTES = 4_194_304;

/** Accepts a message for a run; where it goes is {@link routeFollowup}'s decision, taken under the run's lock. */
@Injectable()
export class SubmitFollowup {
  private readonly tokens: ExecutionTokens;

  constructor(
    private readonly database: Database,
    private readonly runs: RunsService,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly log: RunLogStore,
    private readonly limits: RunLimitsStore,
    private readonly settings: Settings,
    private readonly tasks: BackgroundTasks,
    private readonly personalRuns: PersonalRunPolicy,
    private readonly attachments: FollowupAttachments,
    private readonly snapshots: SnapshotsStore,
    private readonly environment: RunEnvironmentPolicy,
    private readonly inserts: RunInserts,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
  }

  async execute(caller: Caller, runId: string, input: FollowupInput): Promise<SubmitFollowupResult> {
    const lookup = await this.runs.find(caller, runId);
    if (lookup.kind !== 'found') return lookup;
    const refused =
      this.personalRuns.refusal(caller, lookup.run.owner) ?? (await this.environment.refusal(caller, lookup.run));
    if (refused !== null) return { kind: 'not_authorized', detail: refused };
    if (input.isExternal === true && (await this.snapshots.at(runId)) === null) return { kind: 'no_snapshot' };
    const stored = await this.attachments.store(runId, input.files ?? []);
    let isSent = false;
    try {
      const attachments = [...input.attachments, ...stored];
      const result = await this.submit(caller, lookup.run, { ...input, attachments });
      isSent = result.kind === 'accepted';
      return result;
    } catch (error) {
      if (error instanceof RepeatedError) return { kind: 'repeated' };
      throw error;
    } finally {
      if (!isSent) await this.attachments.discard(stored);
    }
  }

  private async submit(
    caller: Caller,
    found: Run,
    { message, mode, attachments, isExternal = false, launchKey, launchLimit, claim = null }: FollowupInput,
  ): Promise<SubmitFollowupResult> {
    const { id: runId } = found;
    const result = await this.database.transaction(async (tx): Promise<SubmitFollowupResult> => {
      const run = await this.transitions.lock(tx, runId);
      if (!run) return { kind: 'not_found' };
      // Under the lock of the run: events that arrive together do not exceed the limit.
      if (launchLimit && (await this.followups.countLaunched(tx, runId, launchLimit.prefix)) >= launchLimit.max)
        return {
          kind: 'over_budget',
          reason: `It has got ${launchLimit.max} follow-ups, the maximum of the automation.`,
        };
      const execution = await this.executions.lockLive(tx, runId);
      const decision = routeFollowup({
        state: run.state,
        // An idle session is closed below, so that the run continues elsewhere.
        session: isExternal && execution?.phase === 'idle' ? 'none' : sessionOf(execution),
        hasConversation: run.conversation_id !== null,
        isMessageEmpty: message.trim() === '' && attachments.length === 0,
      });
      if ('refuse' in decision) return { kind: decision.refuse };
      const debugged = decision.outcome === 'live_session' && execution?.phase === 'debug' ? execution : null;
      // What a person has cancelled or examines is not for messages of the service.
      if (launchKey !== undefined && (run.state === 'CANCELLED' || debugged)) return { kind: 'nothing_to_continue' };
      if (isExternal && decision.outcome !== 'handoff_execution') return { kind: 'in_progress' };
      const reason = this.mayHaveReachedLimit(found) ? await this.reachedLimit(tx, runId) : null;
      if (reason !== null) return { kind: 'over_budget', reason };
      const pending = await this.followups.measurePending(tx, runId, MAX_PENDING_FOLLOWUPS);
      const bytes = pending.bytes + Buffer.byteLength(message);
      // One is accepted, however long it is.
      if (pending.count >= MAX_PENDING_FOLLOWUPS || (pending.count > 0 && bytes > MAX_PENDING_BYTES))
        return { kind: 'too_many' };
      if (isExternal && execution) return { kind: await this.closeSession(tx, execution) };
      const id = newUuid();
      if (attachments.length > 0) {
        const result = await this.attachments.send(tx, runId, id, attachments);
        if (result.kind !== 'attached') return result;
      }
      if (claim !== null && !(await this.inserts.claim(tx, claim, runId))) throw new RepeatedError();
      const author = { type: caller.principal.type, uid: caller.principal.uid } as const;
      await this.followups.insert(tx, {
        id,
        runId,
        message,
        mode,
        outcome: decision.outcome,
        author,
        debugExecutionId: debugged?.id ?? null,
        launchKey: launchKey ?? null,
      });
      await this.log.append(tx, runId, execution?.id ?? null, [
        { kind: 'followup_received', data: { followup_id: id, outcome: decision.outcome, author } },
      ]);
      if (decision.outcome === 'handoff_execution') await this.transitions.apply(tx, runId, 'requeue');
      if (debugged) {
        // The debug agent gets it; the run stays as its set-up has left it.
        await this.executions.extendDebugWindow(tx, debugged.id);
        await this.transitions.touch(tx, runId);
      } else if (decision.outcome === 'live_session') await this.transitions.apply(tx, runId, 'resume');
      if (execution && decision.outcome !== 'handoff_execution') await this.executions.command(tx, execution.id);
      const accepted = { kind: 'accepted', followupId: id, outcome: decision.outcome } as const;
      if (!isExternal) return accepted;
      await this.transitions.makeExternal(tx, runId);
      await this.transitions.apply(tx, runId, 'offer');
      return { ...accepted, executionId: await this.executions.offerExternal(tx, runId, author) };
    });
    if (!isExternal && result.kind === 'accepted' && result.outcome === 'handoff_execution')
      this.tasks.wake(PLACE_RUNS_TASK);
    return result;
  }

  /** Runs that got a follow-up under these launch keys, by key. One round trip. */
  findLaunched(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.followups.findLaunched(this.database, keys);
  }

  /**
   * Continues a run that has ended on the machine of the caller. The answer has what its runner claims the execution with, as
   * for an external run.
   */
  async register(caller: Caller, runId: string, input: Omit<FollowupInput, 'isExternal'>) {
    const result = await this.execute(caller, runId, { ...input, isExternal: true });
    if (result.kind !== 'accepted') return result;
    const { executionId } = result;
    if (executionId === undefined) throw new Error(`The external follow-up of run ${runId} has no execution.`);
    return { ...result, executionId, token: this.tokens.mint(executionId) };
  }

  /** Of a run that is to continue elsewhere. A session stays that works, that a message waits for, or that a user has started. */
  private async closeSession(tx: Queryable, execution: Execution): Promise<'in_progress' | 'session_closing'> {
    if (execution.desired !== 'run') return 'session_closing';
    if (execution.phase !== 'idle' || execution.pool === EXTERNAL_POOL) return 'in_progress';
    if (await this.followups.hasPending(tx, execution.run_id)) return 'in_progress';
    const wish = { desired: 'close', reason: 'moved', fenceAfterMs: STOP_FENCE_MS } as const;
    await this.executions.command(tx, execution.id, wish);
    return 'session_closing';
  }

  /** A run without limits in its configuration costs no round trip until it has worked for as long as the installation lets it. */
  private mayHaveReachedLimit({ config, runTimeMs }: Run): boolean {
    const { defaultMaxRuntime } = this.settings;
    return hasLimits(config) || (defaultMaxRuntime > 0 && (runTimeMs ?? 0) >= defaultMaxRuntime);
  }

  private async reachedLimit(tx: Queryable, runId: string): Promise<string | null> {
    const budget = await this.limits.budget(tx, runId);
    return budget && reachedLimit(budget.limits, budget.spent);
  }
}

function sessionOf(execution: Execution | null): FollowupSession {
  if (!execution) return 'none';
  if (execution.phase === 'debug') return execution.is_debug_open ? 'debug' : 'stopping';
  return execution.desired === 'run' ? 'open' : 'stopping';
}
