import { Injectable } from '@nestjs/common';
import { truncateUtf8 } from '#platform/kernel';
import type { RunnerEvent, TurnEnded, TurnStarted } from '#execution/runner-protocol';
import type { StatusMessage } from '../domain/run.js';
import { turnOutcome } from '../domain/turn-outcome.js';
import { DebugSessionsStore } from '../persistence/debug-sessions.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { type EventContext, textOf } from './event-context.js';
import { ApprovalsService } from './approvals.service.js';

const MAX_MESSAGE_BYTES = 16_384;

/** Events of a debug window: they are stored and shown, and the run stays FAILED as its set-up has left it. */
@Injectable()
export class DebugEventHandler {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly debugSessions: DebugSessionsStore,
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsService,
  ) {}

  /** The set-up failed: so did the run, and its window begins. Of a run that was cancelled meanwhile nothing is kept. */
  async open(context: EventContext, data: Record<string, unknown>): Promise<void> {
    const { tx, run, execution, log } = context;
    if (execution.phase !== 'claimed') return;
    const message = truncateUtf8(textOf(data, 'message') || 'The set-up failed.', MAX_MESSAGE_BYTES).text;
    const status: StatusMessage = { message, error_code: 'environment_setup_failed', retryable: false };
    if (!(await this.transitions.apply(tx, run.id, 'fail', status))) return;
    log.push({ kind: 'run_failed', data: { ...status } });
    if (await this.debugSessions.open(tx, run.id, execution.id)) await this.executions.command(tx, execution.id);
    context.isDebug = true;
    if (await this.executions.releaseSlot(tx, execution.id)) context.freedSlot = true;
  }

  async handle(context: EventContext, event: RunnerEvent): Promise<void> {
    const { tx, execution } = context;
    switch (event.kind) {
      case 'turn_started':
        return this.turnStarted(context, event.data);
      case 'permission_requested':
        return this.approvals.request(context, event.data);
      case 'permission_decided':
        return this.approvals.recordRunnerDecision(context, event.data);
      case 'turn_ended':
        return this.turnEnded(context, event.data as unknown as TurnEnded);
      case 'agent_started':
        return this.debugSessions.markBusy(tx, execution.id);
      default:
        return undefined;
    }
  }

  /** The run's own prompt is not taken by it: a later execution still has it to do. */
  private async turnStarted({ tx, run, execution }: EventContext, turn: Partial<TurnStarted>): Promise<void> {
    if (turn.followup_id !== undefined) await this.followups.consume(tx, turn.followup_id, run.id, execution.id);
    await this.debugSessions.markBusy(tx, execution.id);
    await this.transitions.touch(tx, run.id);
  }

  private async turnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution } = context;
    await this.approvals.withdraw(context);
    await this.executions.pause(tx, execution.id, false);
    await this.debugSessions.rest(tx, execution.id);
    await this.transitions.touch(tx, run.id);
    // A stop ends the whole execution, which releases its slot.
    if (turnOutcome(turn).transition === 'none') return;
    // A person needs as long to read and answer this turn as the first one.
    await this.debugSessions.extend(tx, execution.id);
    if (execution.desired !== 'run' || (await this.debugSessions.hasPending(tx, run.id, execution.id))) return;
    if (await this.executions.releaseSlot(tx, execution.id)) context.freedSlot = true;
  }
}
