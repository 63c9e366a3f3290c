import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { Database, isDatabaseUnavailable } from '#platform/persistence';
import type {
  Desired,
  TaskClaimed,
  TaskCompleted,
  TaskFailed,
  TaskRef,
  TaskRejected,
  Verdict,
} from '#execution/worker-protocol';
import { type WorkerRef, WorkerTasks } from '#execution/worker-gateway';
import { workerPoolKeys } from '../domain/run.js';
import { type KnownTask, WorkerExecutionsStore } from '../persistence/worker-executions.store.js';
import { IdleSessions } from './idle-sessions.js';
import { type Reception, WorkerMessages } from './worker-messages.js';
import { WorkerPlacement } from './worker-placement.js';

const ASK_AGAIN_MS = 5000;
/** Longer than a silent connection counts; by then it is known whether it was dead. */
const ASK_AT_MOST = 25;
const MAX_HELD_BACK = 10_000;
const EXECUTION_ID = /^\d{1,18}$/;

@Injectable()
export class RunWorkerTasks extends WorkerTasks implements OnModuleDestroy {
  private readonly logger = new Logger(RunWorkerTasks.name);
  private readonly heldBack = new Set<NodeJS.Timeout>();

  constructor(
    private readonly database: Database,
    private readonly messages: WorkerMessages,
    private readonly placement: WorkerPlacement,
    private readonly executions: WorkerExecutionsStore,
    private readonly idleSessions: IdleSessions,
  ) {
    super();
  }

  onModuleDestroy(): void {
    for (const timer of this.heldBack) clearTimeout(timer);
  }

  override async arriving(worker: WorkerRef): Promise<void> {
    for (const stop of await this.executions.toStopOnArrival(workerPoolKeys(worker)))
      this.placement.stop({ ...stop, connectionId: worker.connectionId });
  }

  override connected(worker: WorkerRef): void {
    this.placement.welcome(worker);
  }

  override slotFreed(worker: WorkerRef): void {
    this.placement.look(worker);
  }

  override claimed(worker: WorkerRef, data: TaskClaimed['data'], waitedMs: number): Promise<void> {
    const arrivedAt = performance.now() - waitedMs;
    const handle = () => this.messages.claimed(worker, data.task_id, performance.now() - arrivedAt);
    return this.receive(worker, 'task_claimed', handle);
  }

  override async rejected(worker: WorkerRef, data: TaskRejected['data']): Promise<void> {
    // Idle sessions may occupy the worker's slots.
    if ((await this.messages.rejected(worker, data.task_id)) === 'taken')
      await this.idleSessions.closeOldestOn(workerPoolKeys(worker));
  }

  override completed(worker: WorkerRef, data: TaskCompleted['data']): Promise<void> {
    return this.receive(worker, 'task_completed', () => this.messages.completed(worker, data));
  }

  override failed(worker: WorkerRef, data: TaskFailed['data']): Promise<void> {
    return this.receive(worker, 'task_failed', () => this.messages.failed(worker, data));
  }

  override async reconcile(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { verdict: Verdict })[]> {
    const known = await this.recognize(worker, tasks);
    return tasks.map((task) => ({ ...refOf(task), verdict: verdictOn(task, known.get(task.execution_id)) }));
  }

  override async desired(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { desired: Desired })[]> {
    const known = await this.recognize(worker, tasks);
    return tasks.map((task) => ({ ...refOf(task), desired: wishFor(task, known.get(task.execution_id)) }));
  }

  override executing({ connectionId }: WorkerRef): Promise<number> {
    return this.executions.executing(connectionId);
  }

  override async alive(connectionIds: readonly string[]): Promise<void> {
    if (connectionIds.length > 0) await this.executions.renew(connectionIds);
  }

  override unread(connectionIds: readonly string[]): Promise<void> {
    return this.executions.keepOffers(connectionIds);
  }

  override leaving({ connectionId }: WorkerRef): Promise<void> {
    return this.executions.leave(connectionId);
  }

  override async left(worker: WorkerRef): Promise<void> {
    for (const runId of await this.executions.offered(worker.connectionId)) await this.messages.rejected(worker, runId);
  }

  /** An execution that another connection holds, which may be dead, is taken over at a later beat. */
  private async recognize(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<Map<string, KnownTask>> {
    const ids = tasks.map(({ execution_id: id }) => id).filter((id) => EXECUTION_ID.test(id));
    if (ids.length === 0) return new Map();
    const known = await this.executions.known(ids, workerPoolKeys(worker), worker.connectionId);
    const own = tasks.filter((task) => isToTakeOver(task, known.get(task.execution_id)));
    if (own.length > 0) {
      const ownIds = own.map(({ execution_id: id }) => id);
      await this.executions.takeOver(this.database, ownIds, worker.connectionId);
      // A worker that executes the run has claimed it, even when the claim was lost.
      for (const { task_id: runId, execution_id: id } of own)
        if (known.get(id)?.is_offered === true) await this.messages.claimed(worker, runId);
    }
    return known;
  }

  private async receive(worker: WorkerRef, type: string, handle: () => Promise<Reception>, asked = 1): Promise<void> {
    if ((await handle()) !== 'unsure') return;
    if (asked >= ASK_AT_MOST || this.heldBack.size >= MAX_HELD_BACK) {
      this.logger.warn({ msg: 'A message is left out: its run is held by another connection.', type, ...worker });
      return;
    }
    const timer = setTimeout(() => {
      this.heldBack.delete(timer);
      this.receive(worker, type, handle, asked + 1).catch((error: unknown) => {
        if (isDatabaseUnavailable(error)) this.logger.warn(`A ${type} was lost with the database: ${String(error)}`);
        else this.logger.error(error);
      });
    }, ASK_AGAIN_MS);
    timer.unref();
    this.heldBack.add(timer);
  }
}

const refOf = ({ task_id, execution_id }: TaskRef): TaskRef => ({ task_id, execution_id });

const isItsOwn = (task: TaskRef, known: KnownTask | undefined): boolean =>
  known !== undefined && known.is_ours && known.is_live && known.run_id === task.task_id && known.hold !== 'other';

const isToTakeOver = (task: TaskRef, known: KnownTask | undefined): boolean =>
  isItsOwn(task, known) && (known?.hold === 'own' || known?.hold === 'free');

function verdictOn(task: TaskRef, known: KnownTask | undefined): Verdict {
  if (known === undefined || !known.is_ours || known.run_id !== task.task_id) return 'unknown';
  return isItsOwn(task, known) && known.desired !== 'stop' && known.desired !== 'kill' ? 'keep' : 'stop';
}

function wishFor(task: TaskRef, known: KnownTask | undefined): Desired {
  if (known === undefined || !isItsOwn(task, known)) return 'lost';
  // A session that closes is its runner's affair.
  return known.desired === 'close' ? 'run' : known.desired;
}
