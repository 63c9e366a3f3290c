import { Injectable } from '@nestjs/common';
import { newUuid } from '#libs/kernel';
import { Database } from '#libs/persistence';
import type { BatchAck, PermissionDecided, PermissionRequested, RunnerEvent, TurnEnded } from '#libs/runner-protocol';
import { turnOutcome } from '../../domain/turn-outcome.js';
import { ApprovalsStore } from '../../persistence/approvals.store.js';
import { ExecutionsStore } from '../../persistence/executions.store.js';
import { FollowupsStore } from '../../persistence/followups.store.js';
import { RunLogStore, type NewRunEvent } from '../../persistence/run-log.store.js';
import { RunMoves } from '../../persistence/run-moves.js';
import { RunSessions } from '../../persistence/run-sessions.js';
import { DebugEffects } from './debug-effects.js';
import { EnvironmentOutcomes } from './environment-outcomes.js';
import { type EventContext, textOf, toStored, usageOf } from './event-context.js';
import { IdleSessions } from './idle-sessions.js';

export type ReportResult = { readonly kind: 'stored'; readonly ack: BatchAck } | { readonly kind: 'lease_lost' };

/** Events that move the run or its execution, and so need the run's lock first. */
const MOVING = new Set<string>([
  'setup_failed',
  'session_started',
  'agent_started',
  'turn_started',
  'permission_requested',
  'permission_decided',
  'turn_ended',
  'usage',
]);

/** What one event does besides being stored. */
@Injectable()
export class EventEffects {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly sessions: RunSessions,
    private readonly followups: FollowupsStore,
    private readonly approvals: ApprovalsStore,
    private readonly debug: DebugEffects,
  ) {}

  async apply(context: EventContext, event: RunnerEvent): Promise<void> {
    const stored = toStored(event);
    if (stored === null) return this.debug.open(context, event.data);
    context.log.push(stored);
    const { tx, run } = context;
    switch (event.kind) {
      case 'session_started':
        return this.sessions.start(tx, run.id, {
          sessionId: textOf(stored.data, 'session_id'),
          newConversationId: newUuid(),
          isResumed: event.data['resumed'] === true,
          isDebug: context.isDebug,
        });
      case 'usage':
        return this.sessions.addUsage(tx, run.id, usageOf(stored.data));
      default:
        return context.isDebug ? this.debug.apply(context, event) : this.applyToRun(context, event);
    }
  }

  /** What moves the run, where no debug agent is at work. */
  private async applyToRun(context: EventContext, event: RunnerEvent): Promise<void> {
    const { tx, run, execution } = context;
    switch (event.kind) {
      case 'agent_started':
        await this.moves.move(tx, run.id, 'start');
        return this.executions.markBusy(tx, execution.id);
      case 'turn_started':
        return this.turnStarted(context, event.data);
      case 'permission_requested':
        return this.permissionRequested(context, event.data as unknown as PermissionRequested);
      case 'permission_decided':
        return this.permissionDecided(context, event.data as unknown as PermissionDecided);
      case 'turn_ended':
        return this.turnEnded(context, event.data as unknown as TurnEnded);
      default:
        return undefined;
    }
  }

  private async turnStarted({ tx, run, execution }: EventContext, turn: { followup_id?: string }): Promise<void> {
    if (turn.followup_id !== undefined) await this.followups.consume(tx, turn.followup_id, run.id, execution.id);
    await this.sessions.takePrompt(tx, run.id);
    await this.moves.move(tx, run.id, 'resume');
    await this.executions.markBusy(tx, execution.id);
  }

  private async permissionRequested(
    { tx, run, execution, log }: EventContext,
    request: PermissionRequested,
  ): Promise<void> {
    if (!request.ask) return;
    const isNewlyBlocked = await this.moves.move(tx, run.id, 'block');
    // A question that comes after the cancel waits for nobody; the runner withdraws it with the turn.
    if (!isNewlyBlocked && (await this.moves.lock(tx, run.id))?.state !== 'BLOCKED') return;
    await this.approvals.request(tx, run.id, execution.id, request);
    if (isNewlyBlocked) {
      log.push({ kind: 'run_blocked', data: { approval_id: request.approval_id, title: request.title } });
    }
  }

  /** A runner decides by policy, or withdraws a question because the turn was cancelled. */
  private async permissionDecided({ tx, run }: EventContext, decided: PermissionDecided): Promise<void> {
    await this.approvals.decide(tx, run.id, decided.approval_id, {
      state: decided.decision === 'allow' ? 'allowed' : 'denied',
      via: 'cancel',
      by: null,
      note: null,
    });
    if (!(await this.approvals.hasPending(tx, run.id))) await this.moves.move(tx, run.id, 'unblock');
  }

  private async turnEnded(context: EventContext, turn: TurnEnded): Promise<void> {
    const { tx, run, execution, log } = context;
    await this.approvals.dropPending(tx, run.id, execution.id);
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

/** The stores a report needs, in one place so that the use case keeps a short constructor. */
@Injectable()
export class ReportStores {
  constructor(
    readonly moves: RunMoves,
    readonly log: RunLogStore,
    readonly effects: EventEffects,
  ) {}
}

/**
 * Takes a batch of a runner's events: stores what is new, once and in order, and lets each event have its effect, all
 * in one transaction. A plain batch costs five round trips with BEGIN and COMMIT; one that moves the run a few more. The
 * text has been made storable at the edge.
 */
@Injectable()
export class ReportEvents {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly stores: ReportStores,
    private readonly idleSessions: IdleSessions,
    private readonly environmentOutcomes: EnvironmentOutcomes,
  ) {}

  async execute(executionId: string, leaseEpoch: number, batch: readonly RunnerEvent[]): Promise<ReportResult> {
    const moves = batch.some((event) => MOVING.has(event.kind));
    const runId = moves ? await this.executions.runOf(executionId) : null;
    let freedSlot = false;
    let isDebug = false;
    const ack = await this.database.transaction(async (tx): Promise<BatchAck | null> => {
      const run = runId === null ? null : await this.stores.moves.lock(tx, runId);
      if (moves && !run) return null;
      const execution = await this.executions.lock(tx, executionId);
      if (!execution || execution.lease_epoch !== leaseEpoch || execution.phase === 'offered' || execution.is_fenced)
        return null;
      const acked = Number(execution.acked_seq);
      const fresh = contiguousAfter(acked, batch);
      const log: NewRunEvent[] = [];
      if (run) {
        const context: EventContext = {
          tx,
          run,
          execution,
          log,
          isDebug: execution.phase === 'debug',
          freedSlot: false,
        };
        for (const event of fresh) await this.stores.effects.apply(context, event);
        ({ freedSlot, isDebug } = context);
      } else {
        log.push(...fresh.flatMap((event) => toStored(event) ?? []));
      }
      await this.stores.log.append(tx, execution.run_id, executionId, log);
      const ackedSeq = acked + fresh.length;
      await this.executions.acknowledge(tx, executionId, ackedSeq);
      return { acked_seq: ackedSeq, desired: execution.desired };
    });
    if (ack) await this.noteSetup(executionId, batch, isDebug);
    if (freedSlot) await this.idleSessions.slotFreed();
    return ack ? { kind: 'stored', ack } : { kind: 'lease_lost' };
  }

  /** A session that begins says that the set-up went well, unless it is a debug agent's. */
  private async noteSetup(executionId: string, batch: readonly RunnerEvent[], isDebug: boolean): Promise<void> {
    const told = new Set(batch.map(({ kind }) => kind));
    if (told.has('setup_failed')) await this.environmentOutcomes.note(executionId, true);
    else if (told.has('session_started') && !isDebug) await this.environmentOutcomes.note(executionId, false);
  }
}

/** The events that continue the acknowledged sequence without a gap; what was stored before is left out. */
export function contiguousAfter(ackedSeq: number, batch: readonly RunnerEvent[]): RunnerEvent[] {
  const fresh: RunnerEvent[] = [];
  for (const event of [...batch].sort((a, b) => a.source_seq - b.source_seq)) {
    if (event.source_seq === ackedSeq + fresh.length + 1) fresh.push(event);
  }
  return fresh;
}
