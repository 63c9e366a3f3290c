import { Injectable } from '@nestjs/common';
import { ERROR_CODES, type ErrorCode, isUuid, toStorableText } from '#platform/kernel';
import { Database, type Transaction } from '#platform/persistence';
import type { TaskCompleted, TaskFailed } from '#execution/worker-protocol';
import type { WorkerRef } from '#execution/worker-gateway';
import { workerPool } from '../domain/run.js';
import { isCancelledOnWorker, isStoppedOnWorker, workerFailureCode } from '../domain/worker-failure.js';
import { type Execution, ExecutionsStore, isHeldForRunner, workerInstance } from '../persistence/executions.store.js';
import { type LockedRun, RunTransitions } from '../persistence/run-transitions.store.js';
import { WorkerExecutionsStore } from '../persistence/worker-executions.store.js';
import { FollowupsStore } from '../persistence/followups.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { limitMessage } from '../domain/turn-outcome.js';
import { AssignmentSource } from './assignment-source.js';
import { ExecutionFinalizer } from './execution-finalizer.js';

/** `unsure`: another connection holds the execution, which may be dead; asked again later it will be known. */
export type Reception = 'taken' | 'ignored' | 'unsure';

/**
 * What workers say about runs. Their messages name a run only, so they count for its live execution, and only from the
 * connection that holds it or that takes the place of one that is gone. Everything else changes nothing.
 */
@Injectable()
export class WorkerMessages {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly workerExecutions: WorkerExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly followups: FollowupsStore,
    private readonly log: RunLogStore,
    private readonly endings: ExecutionFinalizer,
    private readonly assignments: AssignmentSource,
  ) {}

  /** The worker begins: the offer becomes a lease. `waitedMs`: how long ago the message arrived. */
  claimed(worker: WorkerRef, runId: string, waitedMs = 0): Promise<Reception> {
    return this.asHolder(
      worker,
      runId,
      async (tx, run, execution) => {
        if (execution.phase === 'offered') await this.claim(tx, run, execution, worker);
      },
      waitedMs,
    );
  }

  /** The worker has no free slot, or has left: the run keeps its place in the queue, and no offer has failed. */
  rejected(worker: WorkerRef, runId: string): Promise<Reception> {
    return this.asHolder(worker, runId, async (tx, run, execution) => {
      if (execution.phase !== 'offered' && !isHeldForRunner(execution)) return;
      await this.workerExecutions.forgetOffer(tx, run.id);
      const offers = Math.max(0, run.offers - 1);
      await this.endings.end(tx, { ...run, offers }, execution, { kind: 'handed_back', reason: 'rejected' });
    });
  }

  completed(worker: WorkerRef, data: TaskCompleted['data']): Promise<Reception> {
    const isStopped = isCancelledOnWorker(data);
    return this.finished(worker, data, isStopped, null, async (tx, run, execution, hasRunner) => {
      const state = hasRunner ? run.state : await this.succeed(tx, run, execution);
      await this.endings.end(tx, { ...run, state }, execution, { kind: 'closed', reason: 'completed' });
    });
  }

  async failed(worker: WorkerRef, data: TaskFailed['data']): Promise<Reception> {
    const code = workerFailureCode(data);
    let brokenSetUpOf: string | null = null;
    const reception = await this.finished(worker, data, isStoppedOnWorker(data), code, async (tx, run, execution) => {
      const message = limitMessage(toStorableText(data.message).text);
      await this.endings.end(tx, run, execution, {
        kind: 'failed',
        reason: code,
        status: {
          message: message.trim() === '' ? 'The task failed on its worker.' : message,
          error_code: code,
          retryable: ERROR_CODES[code].retryable,
        },
        ...exitCodeOf(data),
      });
      if (code === 'environment_setup_failed') brokenSetUpOf = run.environment_uid;
    });
    if (brokenSetUpOf !== null) await this.assignments.recordSetup(brokenSetUpOf, 'failed');
    return reception;
  }

  /** Where a runner reports, its word about the run counts; without one, the worker's. */
  private finished(
    worker: WorkerRef,
    data: TaskCompleted['data'] | TaskFailed['data'],
    isStopped: boolean,
    code: ErrorCode | null,
    end: (tx: Transaction, run: LockedRun, execution: Execution, hasRunner: boolean) => Promise<void>,
  ): Promise<Reception> {
    return this.asHolder(worker, data.task_id, async (tx, run, execution, isOwn) => {
      if (isOwn && (await this.isAboutEarlier(tx, execution, worker, isStopped))) return;
      const begun = await this.begun(tx, run, execution, worker);
      if (begun === 'no') return;
      if (begun === 'without_runner' && code !== 'environment_setup_failed')
        await this.transitions.setStartFromClaim(tx, run.id, execution.id);
      if (!isCancelledOnWorker(data)) return end(tx, run, execution, begun === 'with_runner');
      const state = await this.cancel(tx, run, execution, worker);
      await this.endings.end(tx, { ...run, state }, execution, { kind: 'closed', reason: 'cancelled' });
    });
  }

  private asHolder(
    worker: WorkerRef,
    runId: string,
    act: (tx: Transaction, run: LockedRun, execution: Execution, isOwn: boolean) => Promise<void>,
    waitedMs = 0,
  ): Promise<Reception> {
    if (!isUuid(runId)) return Promise.resolve('ignored');
    return this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      if (!run || run.team_uid !== worker.teamUid) return 'ignored';
      const execution = await this.executions.lockLive(tx, runId);
      if (execution?.pool !== workerPool(worker.workerHost)) return 'ignored';
      const { connectionId } = worker;
      const { hold, was_late: isExpired } = await this.workerExecutions.hold(tx, execution.id, connectionId, waitedMs);
      if (hold === 'other') return 'ignored';
      if (hold === 'unsure') return 'unsure';
      if (hold === 'free') await this.workerExecutions.takeOver(tx, [execution.id], worker.connectionId);
      await act(tx, run, { ...execution, is_expired: isExpired }, hold === 'own');
      return 'taken';
    });
  }

  /**
   * A result that an earlier execution of the run has left: on one connection a claim comes before its result, and what was
   * given up is reported as cancelled because the server commanded the worker to stop it.
   */
  private async isAboutEarlier(
    tx: Transaction,
    { id, phase, desired }: Execution,
    { connectionId }: WorkerRef,
    isStopped: boolean,
  ): Promise<boolean> {
    if (phase !== 'offered' && !isStopped) return false;
    const earlier = await this.workerExecutions.earlier(tx, id, connectionId);
    return (phase === 'offered' && earlier.was_here) || (isStopped && desired === 'run' && earlier.was_stopped);
  }

  /** True when the offer stood and is a lease now. */
  private async claim(tx: Transaction, run: LockedRun, execution: Execution, worker: WorkerRef): Promise<boolean> {
    if (execution.is_expired || execution.is_fenced) return false;
    if (!(await this.transitions.apply(tx, run.id, 'claim'))) return false;
    await this.executions.claim(tx, execution.id, workerInstance(worker.connectionId));
    await this.log.append(tx, run.id, execution.id, [
      { kind: 'run_claimed', data: { execution_id: Number(execution.id), worker_host: worker.workerHost } },
    ]);
    return true;
  }

  /** A worker whose claim was lost on the way, or comes after its result, has claimed all the same. */
  private async begun(
    tx: Transaction,
    run: LockedRun,
    execution: Execution,
    worker: WorkerRef,
  ): Promise<'no' | 'without_runner' | 'with_runner'> {
    if (execution.phase === 'offered') return (await this.claim(tx, run, execution, worker)) ? 'without_runner' : 'no';
    return isHeldForRunner(execution) ? 'without_runner' : 'with_runner';
  }

  private async succeed(tx: Transaction, run: LockedRun, execution: Execution): Promise<LockedRun['state']> {
    await this.transitions.apply(tx, run.id, 'start');
    if (!(await this.transitions.apply(tx, run.id, 'succeed'))) return run.state;
    await this.log.append(tx, run.id, execution.id, [{ kind: 'run_done', data: { stop_reason: 'end_turn' } }]);
    return 'SUCCEEDED';
  }

  /** Cancelled where it was executed; what waited for it is cancelled with it. */
  private async cancel(
    tx: Transaction,
    run: LockedRun,
    execution: Execution,
    worker: WorkerRef,
  ): Promise<LockedRun['state']> {
    const status = { message: 'Cancelled by the worker that executed it.', retryable: false };
    if (!(await this.transitions.apply(tx, run.id, 'cancel', status))) return run.state;
    await this.followups.dropPending(tx, run.id);
    await this.log.append(tx, run.id, execution.id, [
      { kind: 'run_cancelled', data: { worker_host: worker.workerHost } },
    ]);
    return 'CANCELLED';
  }
}

/** Nothing that the column cannot hold. */
function exitCodeOf({ exit_code: code }: TaskFailed['data']): { exitCode?: number } {
  return code !== undefined && code === Math.trunc(code) && Math.abs(code) < 2 ** 31 ? { exitCode: code } : {};
}
