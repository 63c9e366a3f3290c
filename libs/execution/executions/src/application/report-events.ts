import { Injectable, Logger } from '@nestjs/common';
import {
  type BatchAck,
  isRunnerEventKind,
  type ReceivedRunnerEvent,
  type RunnerEvent,
} from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { Database, sqlState } from '#platform/persistence';
import { OutputQuota } from '../domain/output-quota.js';
import { type EventBatch, EventBatchesStore } from '../persistence/event-batches.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import type { NewRunEvent } from '../domain/run.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { SnapshotsStore } from '../persistence/snapshots.store.js';
import { AssignmentSource } from './assignment-source.js';
import { type EventContext, toStored } from './event-context.js';
import { IdleSessions } from './idle-sessions.js';
import { RunEventHandler } from './run-event-handler.js';

/** `invalid`: a value that the database rejects; nothing of the batch is stored. */
type ReportResult = BatchAck | 'lease_lost' | 'invalid';

const DATA_EXCEPTION = '22';
/** A runner with an error must fill neither the log nor the memory. */
const MAX_UNKNOWN_KINDS = 100;

/** Events that change the run or its execution, and so need the run's lock first. */
const CHANGES_RUN = new Set<string>([
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

/**
 * Stores a batch of a runner's events, once and in order, and applies the effect of each, all in one transaction. A batch
 * that changes nothing costs one round trip, which batches of other runners share; one that changes the run has a separate
 * transaction. The text has been made storable at the edge.
 */
@Injectable()
export class ReportEvents {
  private readonly logger = new Logger(ReportEvents.name);
  private readonly unknownKinds = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly snapshots: SnapshotsStore,
    private readonly batches: EventBatchesStore,
    private readonly handler: RunEventHandler,
    private readonly idleSessions: IdleSessions,
    private readonly assignments: AssignmentSource,
    private readonly settings: Settings,
  ) {}

  async execute(executionId: string, leaseEpoch: number, batch: readonly ReceivedRunnerEvent[]): Promise<ReportResult> {
    try {
      const plain = plainBatch(executionId, leaseEpoch, batch);
      return (plain && (await this.batches.append(plain))) ?? (await this.report(executionId, leaseEpoch, batch));
    } catch (error) {
      if (sqlState(error)?.startsWith(DATA_EXCEPTION)) return 'invalid';
      throw error;
    }
  }

  private async report(
    executionId: string,
    leaseEpoch: number,
    batch: readonly ReceivedRunnerEvent[],
  ): Promise<ReportResult> {
    const changesRun = batch.some((event) => CHANGES_RUN.has(event.kind));
    let freedSlot = false;
    let isDebug = false;
    let isIdle = false;
    let environmentUid: string | null = null;
    const ack = await this.database.transaction(async (tx): Promise<BatchAck | null> => {
      // 1. Lock in the order of all writers: the run, where an event changes it, then the execution.
      const [run, execution] = await Promise.all([
        changesRun ? this.transitions.lockOf(tx, executionId) : null,
        this.executions.lock(tx, executionId),
      ]);
      if (changesRun && !run) return null;
      if (!execution || execution.lease_epoch !== leaseEpoch || execution.phase === 'offered' || execution.is_fenced)
        return null;
      // 2. Drop what was stored before, and what follows a gap.
      const acked = Number(execution.acked_seq);
      const fresh = contiguousAfter(acked, batch);
      const known = fresh.filter(isKnown);
      const log: NewRunEvent[] = [];
      const before = Number(execution.output_bytes);
      const quota = new OutputQuota(this.settings.maxOutputBytes, before);
      let { desired } = execution;
      // 3. Apply the effects in order; they add their own log entries.
      if (run) {
        const context: EventContext = {
          tx,
          run,
          execution,
          log,
          isDebug: execution.phase === 'debug',
          freedSlot: false,
        };
        for (const event of known) await this.handler.handle(context, event, quota);
        ({ freedSlot, isDebug } = context);
        ({ desired } = context.execution);
        environmentUid = run.environment_uid;
      } else {
        log.push(...known.flatMap((event) => toStored(event) ?? []).flatMap((event) => quota.admit(event)));
      }
      // 4. Store the log, then acknowledge, which renews the lease. Unknown kinds are acknowledged too: the runner would repeat
      //    them with all that follows until its patience ends.
      const logged = await this.snapshots.checked(tx, execution.run_id, log);
      isIdle = desired === 'run';
      const ackedSeq = acked + fresh.length;
      await Promise.all([
        this.log.append(tx, execution.run_id, executionId, logged),
        this.snapshots.publish(tx, execution.run_id, logged),
        this.executions.acknowledge(tx, executionId, ackedSeq, quota.usedBytes - before),
      ]);
      return { acked_seq: ackedSeq, desired };
    });
    if (ack) this.warnOfUnknown(batch);
    if (ack && environmentUid !== null) await this.recordSetup(environmentUid, batch, isDebug);
    if (freedSlot) await this.idleSessions.slotFreed(isIdle);
    return ack ?? 'lease_lost';
  }

  /** Once for each kind: every runner of a later version reports it, in every run. */
  private warnOfUnknown(batch: readonly ReceivedRunnerEvent[]): void {
    for (const { kind } of batch) {
      if (isRunnerEventKind(kind) || this.unknownKinds.has(kind)) continue;
      if (this.unknownKinds.size >= MAX_UNKNOWN_KINDS) return;
      this.unknownKinds.add(kind);
      this.logger.warn({
        msg: 'events of a kind that this version does not know are ignored, because the runner is newer than the API',
        kind,
      });
    }
  }

  /** A session that starts proves that the set-up succeeded, unless it is the one of a debug agent. */
  private async recordSetup(
    environmentUid: string,
    batch: readonly ReceivedRunnerEvent[],
    isDebug: boolean,
  ): Promise<void> {
    const kinds = new Set(batch.map(({ kind }) => kind));
    if (kinds.has('setup_failed')) await this.assignments.recordSetup(environmentUid, 'failed');
    else if (kinds.has('session_started') && !isDebug) await this.assignments.recordSetup(environmentUid, 'succeeded');
  }
}

/** Null when one of the events has an effect, or when the events are not in sequence. */
function plainBatch(executionId: string, leaseEpoch: number, batch: readonly ReceivedRunnerEvent[]): EventBatch | null {
  const firstSeq = batch[0]?.source_seq;
  if (firstSeq === undefined) return null;
  const quota = new OutputQuota(Number.MAX_SAFE_INTEGER, 0);
  const events: NewRunEvent[] = [];
  for (const [index, event] of batch.entries()) {
    if (event.source_seq !== firstSeq + index || !isKnown(event) || CHANGES_RUN.has(event.kind)) return null;
    const stored = event.kind === 'workspace_snapshot' ? null : toStored(event);
    if (stored === null) return null;
    events.push(...quota.admit(stored));
  }
  return { executionId, leaseEpoch, firstSeq, events, bytes: quota.usedBytes };
}

const isKnown = (event: ReceivedRunnerEvent): event is RunnerEvent => isRunnerEventKind(event.kind);

export function contiguousAfter(ackedSeq: number, batch: readonly ReceivedRunnerEvent[]): ReceivedRunnerEvent[] {
  const fresh: ReceivedRunnerEvent[] = [];
  for (const event of [...batch].sort((a, b) => a.source_seq - b.source_seq)) {
    if (event.source_seq === ackedSeq + fresh.length + 1) fresh.push(event);
  }
  return fresh;
}
