import { Injectable } from '@nestjs/common';
import type { RunnerEvent, TurnEnded } from '#execution/runner-protocol';
import { turnOutcome } from '../domain/turn-outcome.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunMoves } from '../persistence/run-moves.js';
import { RunSessions } from '../persistence/run-sessions.js';
import { type EventContext, textOf } from './event-context.js';
import { PermissionEffects } from './permission-effects.js';

/** What an event does to its run, where no debug agent is at work. */
@Injectable()
export class RunEffects {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly sessions: RunSessions,
    private readonly followups: FollowupsStore,
    private readonly permissions: PermissionEffects,
  ) {}

  async apply(context: EventContext, event: RunnerEvent): Promise<void> {
    const { tx, run, execution } = context;
    switch (event.kind) {
      case 'agent_started':
        await this.moves.move(tx, run.id, 'start');
        return this.executions.markBusy(tx, execution.id);
      case 'agent_waiting':
        return this.moves.note(context.tx, context.run.id, {
          message: textOf(event.data, 'message') || 'The agent makes no progress.',
          ...(textOf(event.data, 'detail') === '' ? {} : { detail: textOf(event.data, 'detail') }),
        });
      case 'agent_resumed':
        return this.moves.note(context.tx, context.run.id, null);
      case 'turn_started':
        return this.turnStarted(context, event.data);
      case 'permission_requested':
        return this.permissions.requested(context, event.data);
      case 'permission_decided':
        return this.permissions.decided(context, event.data);
      case 'turn_ended':
        return this.turnEnded(context, event.data as unknown as TurnEnded);
      default:
        return undefined;
    }
  }

  private async turnStarted({ tx, run, execution }: EventContext, turn: { followup_id?: string }): Promise<void> {
    if (turn.followup_id !== undefined) await this.followups.consume(tx, turn.followup_id, run.id, execution.id);
    await this.sessions.takePrompt(tx, run.id);
    // A session that was told to stop may begin a turn before it hears of it: the run has ended for good.
    if (execution.desired === 'run' || execution.desired === 'close') await this.moves.move(tx, run.id, 'resume');
    await this.executions.markBusy(tx, execution.id);
  }

  private async turnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution, log } = context;
    await this.permissions.withdraw(context);
    const outcome = turnOutcome(turn);
    // Whoever cancelled ends the whole execution: its slot is free when nothing of it runs any more.
    if (outcome.move === 'none') return this.executions.pause(tx, execution.id, false);
    // With a follow-up waiting the session goes on at once: it keeps its slot, and the run stays in progress.
    const hasMore = await this.followups.hasPending(tx, run.id);
    await this.executions.pause(tx, execution.id, !hasMore);
    if (hasMore) {
      await this.moves.move(tx, run.id, 'unblock');
      return;
    }
    if (outcome.move === 'succeed' && (await this.moves.move(tx, run.id, 'succeed'))) {
      log.push({ kind: 'run_done', data: { stop_reason: turn.stop_reason } });
    } else if (outcome.move === 'fail' && (await this.moves.move(tx, run.id, 'fail', outcome.status))) {
      log.push({ kind: 'run_failed', data: { ...outcome.status } });
    }
    // A stopping execution keeps its slot until nothing of it runs any more.
    if (execution.desired === 'run') context.freedSlot = await this.executions.releaseSlot(tx, execution.id);
  }
}
