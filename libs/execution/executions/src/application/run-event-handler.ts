import { Injectable } from '@nestjs/common';
import type { RunnerEvent, TurnEnded } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { STOP_FENCE_MS } from '../domain/lease.js';
import type { OutputQuota } from '../domain/output-quota.js';
import { HOSTED_POOL, type StatusMessage } from '../domain/run.js';
import { turnOutcome } from '../domain/turn-outcome.js';
import { type Execution, ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { ApprovalsService } from './approvals.service.js';
import { type EventContext, messageOf, textOf, toStored, usageOf } from './event-context.js';
import { RunLimitEnforcer } from './run-limit-enforcer.js';
import { TurnInterrupter } from './turn-interrupter.js';

const MAX_SESSION_ID_LENGTH = 512;

function waitingStatus(data: object): StatusMessage {
  const detail = messageOf(data, 'detail');
  return {
    message: messageOf(data, 'message') || 'The agent makes no progress.',
    ...(detail === '' ? {} : { detail }),
  };
}

/** In a debug window an event changes the execution only: the run stays FAILED as its set-up has left it. */
@Injectable()
export class RunEventHandler {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsService,
    private readonly limits: RunLimitEnforcer,
    private readonly interrupter: TurnInterrupter,
    private readonly settings: Settings,
  ) {}

  async handle(context: EventContext, event: RunnerEvent, quota: OutputQuota): Promise<void> {
    const stored = toStored(event);
    if (stored === null) return this.openDebugWindow(context, event.data);
    context.log.push(...quota.admit(stored));
    const { tx, run, execution, isDebug } = context;
    switch (event.kind) {
      case 'session_started':
        return this.transitions.startSession(tx, run.id, {
          sessionId: textOf(stored.data, 'session_id').slice(0, MAX_SESSION_ID_LENGTH),
          newConversationId: newUuid(),
          isResumed: event.data['resumed'] === true,
          isDebug,
        });
      case 'usage':
        return this.limits.addUsage(context, usageOf(stored.data));
      case 'permission_requested':
        return this.approvals.request(context, event.data);
      case 'permission_decided':
        return this.approvals.recordRunnerDecision(context, event.data);
      case 'agent_started':
        if (isDebug) return this.executions.markDebugBusy(tx, execution.id);
        await Promise.all([this.transitions.apply(tx, run.id, 'start'), this.markBusy(context)]);
        return;
      case 'agent_waiting':
        if (isDebug) return;
        return this.transitions.setStatus(tx, run.id, waitingStatus(event.data));
      case 'agent_resumed':
        return isDebug ? undefined : this.transitions.setStatus(tx, run.id, null);
      case 'turn_started':
        return this.turnStarted(context, event.data);
      case 'turn_ended': {
        const turn = event.data as unknown as TurnEnded;
        await this.approvals.withdraw(context);
        return isDebug ? this.debugTurnEnded(context, turn) : this.turnEnded(context, turn);
      }
      default:
        return undefined;
    }
  }

  private async turnStarted(context: EventContext, turn: { followup_id?: string }): Promise<void> {
    const { tx, run, execution } = context;
    if (turn.followup_id !== undefined) await this.followups.consume(tx, turn.followup_id, run.id, execution.id);
    if (context.isDebug) {
      // The prompt of the run does not count as sent: a later execution still has to send it.
      await this.executions.markDebugBusy(tx, execution.id);
      return this.transitions.touch(tx, run.id);
    }
    await this.transitions.markPromptSent(tx, run.id);
    // The first turn: the start of the agent has moved run and execution already.
    if (execution.is_busy) return;
    // A session may start a turn before the command to stop reaches it: its run has ended for good.
    if (execution.desired === 'run' || execution.desired === 'close')
      await this.transitions.apply(tx, run.id, 'resume');
    await this.markBusy(context);
  }

  /** The next turn may begin in the same batch. */
  private async pause(context: EventContext, rests: boolean): Promise<void> {
    await this.executions.pause(context.tx, context.execution.id, rests);
    context.execution = { ...context.execution, is_busy: false };
  }

  private async markBusy(context: EventContext): Promise<void> {
    await this.executions.markBusy(context.tx, context.execution.id);
    context.execution = { ...context.execution, is_busy: true };
  }

  private async turnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution, log } = context;
    const isInterrupted = await this.interrupter.recordTurnEnd(context, turn);
    const outcome = turnOutcome(turn, isInterrupted && (execution.desired === 'run' || execution.desired === 'close'));
    // A cancel ends the whole execution: its slot is released when none of its processes runs any more.
    if (outcome.transition === 'none') return this.pause(context, false);
    // With a follow-up pending the session continues at once: it keeps its slot, and the run stays in progress.
    const hasMore = await this.followups.hasPending(tx, run.id);
    const { transition, status = null } = outcome;
    const [hasChanged] = await Promise.all([
      hasMore ? this.transitions.apply(tx, run.id, 'unblock') : this.transitions.apply(tx, run.id, transition, status),
      this.pause(context, !hasMore),
    ]);
    if (hasMore) return;
    if (hasChanged && transition === 'succeed') log.push({ kind: 'run_done', data: { stop_reason: turn.stop_reason } });
    else if (hasChanged) log.push({ kind: 'run_failed', data: { ...status } });
    // A stopping execution keeps its slot until none of its processes runs any more.
    if (execution.desired !== 'run') return;
    const reason = this.reasonToClose(execution);
    // The acknowledgement of this batch carries the command, and a follow-up from now on continues in a new execution.
    const command = { desired: 'close', fenceAfterMs: STOP_FENCE_MS, isAnswered: true } as const;
    [context.freedSlot] = await Promise.all([
      this.executions.releaseSlot(tx, execution.id),
      reason !== null && this.executions.command(tx, execution.id, { ...command, reason }),
    ]);
    if (reason !== null) context.execution = { ...context.execution, desired: 'close', desired_reason: reason };
  }

  /** Of a session that has just become idle; null: it stays open. */
  private reasonToClose({ pool, idle_timeout_ms: idleTimeout }: Execution): string | null {
    if (idleTimeout === 0) return 'idle_timeout';
    return pool === HOSTED_POOL && this.settings.maxIdleSessions === 0 ? 'max_idle_sessions' : null;
  }

  /** The set-up failed: so did the run, and its window begins. Of a run that was cancelled meanwhile nothing is kept. */
  private async openDebugWindow(context: EventContext, data: Record<string, unknown>): Promise<void> {
    const { tx, run, execution, log } = context;
    if (execution.phase !== 'claimed') return;
    const message = messageOf(data, 'message') || 'The set-up failed.';
    const status: StatusMessage = { message, error_code: 'environment_setup_failed', retryable: false };
    if (!(await this.transitions.apply(tx, run.id, 'fail', status))) return;
    log.push({ kind: 'run_failed', data: { ...status } });
    await this.executions.openDebugWindow(tx, execution.id);
    if (await this.followups.adoptOfDebug(tx, run.id, execution.id)) await this.executions.command(tx, execution.id);
    context.isDebug = true;
    if (await this.executions.releaseSlot(tx, execution.id)) context.freedSlot = true;
  }

  private async debugTurnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution } = context;
    await this.executions.pause(tx, execution.id, false);
    await this.executions.restDebug(tx, execution.id);
    await this.transitions.touch(tx, run.id);
    // A stop ends the whole execution, which releases its slot.
    if (turnOutcome(turn).transition === 'none') return;
    // A person needs as long to read and answer this turn as the first one.
    await this.executions.extendDebugWindow(tx, execution.id);
    if (execution.desired !== 'run' || (await this.followups.hasPendingOfDebug(tx, run.id, execution.id))) return;
    if (await this.executions.releaseSlot(tx, execution.id)) context.freedSlot = true;
  }
}
