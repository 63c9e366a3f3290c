import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { Database, DatabaseListener } from '#platform/persistence';
import { COMMANDS_CHANNEL, RUN_ENDS_CHANNEL } from '../domain/lease.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { RunWaitsStore } from '../persistence/run-waits.store.js';
import { RunTail } from './run-tail.js';
import { RUN_WAIT_MODES } from '#execution/runner-protocol';
import { PLACE_RUNS_TASK } from './tasks.js';

/** A lost notification costs at most this long. */
const LOOK_AGAIN_MS = 5000;
/** Emitted when anything may have been missed. */
const MISSED = '';

export type RunWaitMode = (typeof RUN_WAIT_MODES)[number];

export interface RunWait {
  readonly executionId: string;
  readonly leaseEpoch: number;
  readonly runIds: readonly string[];
  /** `end`: the wait ends, whatever the runs do. `abandon`: the agent continues already, also without a slot. */
  readonly mode: RunWaitMode;
  readonly waitMs: number;
}

/**
 * Waits of agents for runs that their run has started. Meanwhile the execution has no slot, because these runs need one, and the time is
 * no working time. The wait is over when the execution has a slot again. Waits without holding a connection, and what it has done so
 * far is in the database: the runner repeats the request at any process.
 */
@Injectable()
export class RunWaits implements OnModuleInit, OnModuleDestroy {
  /** Events are `run/ID` and `execution/ID`. */
  private readonly notifications = new EventEmitter().setMaxListeners(0);
  private unsubscribe: readonly (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly store: RunWaitsStore,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly tail: RunTail,
    private readonly tasks: BackgroundTasks,
    private readonly listener: DatabaseListener,
  ) {}

  onModuleInit(): void {
    this.unsubscribe = [
      this.listener.subscribe(RUN_ENDS_CHANNEL, (id) => void this.notifications.emit(id === '' ? MISSED : `run/${id}`)),
      this.listener.subscribe(
        COMMANDS_CHANNEL,
        (id) => void this.notifications.emit(id === '' ? MISSED : `execution/${id}`),
      ),
    ];
  }

  onModuleDestroy(): void {
    for (const unsubscribe of this.unsubscribe) unsubscribe();
    this.notifications.emit(MISSED);
  }

  /** `waiting`: it is not over yet. */
  async wait(
    { executionId, leaseEpoch, runIds, mode, waitMs }: RunWait,
    abort: AbortSignal,
  ): Promise<'over' | 'waiting' | 'lease_lost'> {
    const deadline = performance.now() + waitMs;
    const events = [MISSED, `execution/${executionId}`, ...runIds.map((id) => `run/${id}`)];
    for (;;) {
      const notified = new AbortController();
      const wake = (): void => notified.abort();
      // Before the database is read, so that no notification is missed.
      for (const event of events) this.notifications.on(event, wake);
      try {
        const execution = await this.store.read(executionId, leaseEpoch);
        if (!execution) return 'lease_lost';
        const isEnded = mode !== 'wait' || (await this.tail.unfinished(this.database, runIds)).size === 0;
        if (isEnded && (await this.end(executionId, execution.runId, mode))) return 'over';
        if (!isEnded && !execution.isWaiting) await this.begin(executionId, execution.runId, runIds.length);
        else if (!isEnded && (execution.wantsSlot || execution.holdsSlot))
          await this.continueWithoutSlot(executionId, execution.runId);
        const left = deadline - performance.now();
        if (left <= 0 || abort.aborted) return 'waiting';
        const signal = AbortSignal.any([notified.signal, abort]);
        await wait(Math.min(left, LOOK_AGAIN_MS), undefined, { signal }).catch(() => undefined);
        if (abort.aborted) return 'waiting';
      } finally {
        for (const event of events) this.notifications.off(event, wake);
      }
    }
  }

  private async begin(executionId: string, runId: string, count: number): Promise<void> {
    const hasFreed = await this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      // Of a debug window the run has ended, and a stopping one keeps its slot until its processes have ended.
      if (execution?.phase !== 'started' || execution.desired === 'stop' || execution.desired === 'kill') return false;
      if (execution.is_busy) await this.executions.pause(tx, executionId, false);
      if (!(await this.store.begin(tx, executionId))) return false;
      const what = count === 1 ? 'a run that it has started' : `${count} runs that it has started`;
      await this.transitions.setStatus(tx, runId, { message: `Waits for ${what}.` });
      return this.executions.releaseSlot(tx, executionId);
    });
    if (hasFreed) this.tasks.wake(PLACE_RUNS_TASK);
  }

  /** A run has been continued after the wait for it was over. It may need the slot that this execution would have got. */
  private async continueWithoutSlot(executionId: string, runId: string): Promise<void> {
    const hasFreed = await this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (execution?.phase !== 'started' || execution.desired === 'stop' || execution.desired === 'kill') return false;
      const known = await this.store.read(executionId, execution.lease_epoch, tx);
      if (known?.isWaiting !== true) return false;
      await this.store.stopWantingSlot(tx, executionId);
      return this.executions.releaseSlot(tx, executionId);
    });
    if (hasFreed) this.tasks.wake(PLACE_RUNS_TASK);
  }

  /** False: the execution has no slot yet, and gets one before runs that have not started. */
  private async end(executionId: string, runId: string, mode: RunWaitMode): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      // After its turn a session needs no slot.
      if (execution?.phase !== 'started') return true;
      const known = await this.store.read(executionId, execution.lease_epoch, tx);
      if (known === null || (!known.isWaiting && !known.wantsSlot)) return true;
      if (!(await this.executions.acquireSlot(executionId, tx))) {
        await this.store.wantSlot(tx, executionId);
        if (mode !== 'abandon') return false;
      }
      if (!known.isWaiting) return true;
      await this.store.end(tx, executionId);
      await this.executions.markBusy(tx, executionId);
      await this.transitions.setStatus(tx, runId, null);
      return true;
    });
  }
}
