import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { Database, sqlState } from '#platform/persistence';
import type { BatchAck, RunnerEvent } from '#execution/runner-protocol';
import { OutputQuota } from '../domain/output-quota.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { type NewRunEvent, RunLogStore } from '../persistence/run-log.store.js';
import { RunMoves } from '../persistence/run-moves.js';
import { RunSessions } from '../persistence/run-sessions.js';
import { RunCeilings } from './ceilings.js';
import { DebugEffects } from './debug-effects.js';
import { AssignmentSource } from './assignment-source.js';
import { type EventContext, textOf, toStored, usageOf } from './event-context.js';
import { IdleSessions } from './idle-sessions.js';
import { RunEffects } from './run-effects.js';

export type ReportResult =
  | { readonly kind: 'stored'; readonly ack: BatchAck }
  | { readonly kind: 'lease_lost' }
  /** A value that the database cannot take; nothing of the batch is stored. */
  | { readonly kind: 'invalid' };

/** Class of SQLSTATEs: data exceptions. */
const DATA_EXCEPTION = '22';

/** Events that move the run or its execution, and so need the run's lock first. */
const MOVING = new Set<string>([
  'setup_failed',
  'session_started',
  'agent_started',
  'agent_waiting',
  'agent_resumed',
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
    private readonly sessions: RunSessions,
    private readonly ceilings: RunCeilings,
    private readonly ofRun: RunEffects,
    private readonly ofDebug: DebugEffects,
  ) {}

  async apply(context: EventContext, event: RunnerEvent, quota: OutputQuota): Promise<void> {
    const stored = toStored(event);
    if (stored === null) return this.ofDebug.open(context, event.data);
    context.log.push(...quota.admit(stored));
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
        return this.ceilings.use(context, usageOf(stored.data));
      default:
        return context.isDebug ? this.ofDebug.apply(context, event) : this.ofRun.apply(context, event);
    }
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
    private readonly assignments: AssignmentSource,
    private readonly settings: Settings,
  ) {}

  async execute(executionId: string, leaseEpoch: number, batch: readonly RunnerEvent[]): Promise<ReportResult> {
    try {
      return await this.report(executionId, leaseEpoch, batch);
    } catch (error) {
      if (sqlState(error)?.startsWith(DATA_EXCEPTION)) return { kind: 'invalid' };
      throw error;
    }
  }

  private async report(executionId: string, leaseEpoch: number, batch: readonly RunnerEvent[]): Promise<ReportResult> {
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
      const before = Number(execution.output_bytes);
      const quota = new OutputQuota(this.settings.maxOutputBytes, before);
      let { desired } = execution;
      if (run) {
        const context: EventContext = {
          tx,
          run,
          execution,
          log,
          isDebug: execution.phase === 'debug',
          freedSlot: false,
        };
        for (const event of fresh) await this.stores.effects.apply(context, event, quota);
        ({ freedSlot, isDebug } = context);
        ({ desired } = context.execution);
      } else {
        log.push(...fresh.flatMap((event) => toStored(event) ?? []).flatMap((event) => quota.admit(event)));
      }
      await this.stores.log.append(tx, execution.run_id, executionId, log);
      const ackedSeq = acked + fresh.length;
      await this.executions.acknowledge(tx, executionId, ackedSeq, quota.usedBytes - before);
      return { acked_seq: ackedSeq, desired };
    });
    if (ack) await this.noteSetup(executionId, batch, isDebug);
    if (freedSlot) await this.idleSessions.slotFreed();
    return ack ? { kind: 'stored', ack } : { kind: 'lease_lost' };
  }

  /** A session that begins says that the set-up went well, unless it is a debug agent's. */
  private async noteSetup(executionId: string, batch: readonly RunnerEvent[], isDebug: boolean): Promise<void> {
    const told = new Set(batch.map(({ kind }) => kind));
    if (told.has('setup_failed')) await this.assignments.recordSetup(executionId, 'failed');
    else if (told.has('session_started') && !isDebug) await this.assignments.recordSetup(executionId, 'succeeded');
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
