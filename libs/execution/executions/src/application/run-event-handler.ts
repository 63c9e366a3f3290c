import { Injectable } from '@nestjs/common';
import type { RunnerEvent, TurnEnded } from '#execution/runner-protocol';
import { newUuid } from '#platform/kernel';
import type { OutputQuota } from '../domain/output-quota.js';
import { turnOutcome } from '../domain/turn-outcome.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { ApprovalsService } from './approvals.service.js';
import { DebugEventHandler } from './debug-event-handler.js';
import { type EventContext, textOf, toStored, usageOf } from './event-context.js';
import { RunLimitEnforcer } from './run-limit-enforcer.js';

/** What one event of a runner does to its run and execution, besides being stored. */
@Injectable()
export class RunEventHandler {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsService,
    private readonly limits: RunLimitEnforcer,
    private readonly debug: DebugEventHandler,
  ) {}

  async handle(context: EventContext, event: RunnerEvent, quota: OutputQuota): Promise<void> {
    const stored = toStored(event);
    if (stored === null) return this.debug.open(context, event.data);
    context.log.push(...quota.admit(stored));
    const { tx, run } = context;
    switch (event.kind) {
      case 'session_started':
        return this.transitions.startSession(tx, run.id, {
          sessionId: textOf(stored.data, 'session_id'),
          newConversationId: newUuid(),
          isResumed: event.data['resumed'] === true,
          isDebug: context.isDebug,
        });
      case 'usage':
        return this.limits.addUsage(context, usageOf(stored.data));
      default:
        return context.isDebug ? this.debug.handle(context, event) : this.handleForRun(context, event);
    }
  }

  private async handleForRun(context: EventContext, event: RunnerEvent): Promise<void> {
    const { tx, run, execution } = context;
    switch (event.kind) {
      case 'agent_started':
        await this.transitions.apply(tx, run.id, 'start');
        return this.executions.markBusy(tx, execution.id);
      case 'agent_waiting':
        return this.transitions.setStatus(tx, run.id, {
          message: textOf(event.data, 'message') || 'The agent makes no progress.',
          ...(textOf(event.data, 'detail') === '' ? {} : { detail: textOf(event.data, 'detail') }),
        });
      case 'agent_resumed':
        return this.transitions.setStatus(tx, run.id, null);
      case 'turn_started':
        return this.turnStarted(context, event.data);
      case 'permission_requested':
        return this.approvals.request(context, event.data);
      case 'permission_decided':
        return this.approvals.recordRunnerDecision(context, event.data);
      case 'turn_ended':
        return this.turnEnded(context, event.data as unknown as TurnEnded);
      default:
        return undefined;
    }
  }

  private async turnStarted({ tx, run, execution }: EventContext, turn: { followup_id?: string }): Promise<void> {
    if (turn.followup_id !== undefined) await this.followups.consume(tx, turn.followup_id, run.id, execution.id);
    await this.transitions.markPromptSent(tx, run.id);
    // A session may start a turn before the command to stop reaches it: its run has ended for good.
    if (execution.desired === 'run' || execution.desired === 'close')
      await this.transitions.apply(tx, run.id, 'resume');
    await this.executions.markBusy(tx, execution.id);
  }

  private async turnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution, log } = context;
    await this.approvals.withdraw(context);
    const outcome = turnOutcome(turn);
    // A cancel ends the whole execution: its slot is released when none of its processes runs any more.
    if (outcome.transition === 'none') return this.executions.pause(tx, execution.id, false);
    // With a follow-up pending the session continues at once: it keeps its slot, and the run stays in progress.
    const hasMore = await this.followups.hasPending(tx, run.id);
    await this.executions.pause(tx, execution.id, !hasMore);
    if (hasMore) {
      await this.transitions.apply(tx, run.id, 'unblock');
      return;
    }
    if (outcome.transition === 'succeed' && (await this.transitions.apply(tx, run.id, 'succeed'))) {
      log.push({ kind: 'run_done', data: { stop_reason: turn.stop_reason } });
    } else if (outcome.transition === 'fail' && (await this.transitions.apply(tx, run.id, 'fail', outcome.status))) {
      log.push({ kind: 'run_failed', data: { ...outcome.status } });
    }
    // A stopping execution keeps its slot until none of its processes runs any more.
    if (execution.desired === 'run') context.freedSlot = await this.executions.releaseSlot(tx, execution.id);
  }
}
