import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Database, isDatabaseUnavailable } from '#libs/persistence';
import type {
  Desired,
  TaskClaimed,
  TaskCompleted,
  TaskFailed,
  TaskRef,
  TaskRejected,
  Verdict,
} from '#libs/worker-protocol';
import { type WorkerRef, WorkerTasks } from '#libs/workers';
import { slotKey, workerPool } from '../../domain/run.js';
import { type KnownTask, WorkerExecutionsStore } from '../../persistence/worker-executions.store.js';
import { IdleSessions } from '../execution/idle-sessions.js';
import { type Reception, WorkerMessages } from './worker-messages.js';
import { WorkerOffers } from './worker-offers.js';

const ASK_AGAIN_MS = 5000;
/** Longer than a silent connection counts; by then it is known whether it was dead. */
const ASK_AT_MOST = 25;
const MAX_HELD_BACK = 10_000;
const EXECUTION_ID = /^\d{1,18}$/;

/** What connected workers say, as it concerns runs. */
@Injectable()
export class RunWorkerTasks extends WorkerTasks implements OnModuleDestroy {
  private readonly logger = new Logger(RunWorkerTasks.name);
  private readonly heldBack = new Set<NodeJS.Timeout>();

  constructor(
    private readonly database: Database,
    private readonly messages: WorkerMessages,
    private readonly offers: WorkerOffers,
    private readonly executions: WorkerExecutionsStore,
    private readonly idleSessions: IdleSessions,
  ) {
    super();
  }

  onModuleDestroy(): void {
    for (const timer of this.heldBack) clearTimeout(timer);
  }

  override connected(worker: WorkerRef): void {
    this.offers.welcome(worker);
  }

  override roomAgain(worker: WorkerRef): void {
    this.offers.look(worker);
  }

  override claimed(worker: WorkerRef, data: TaskClaimed['data']): Promise<void> {
    return this.receive(worker, 'task_claimed', () => this.messages.claimed(worker, data.task_id));
  }

  override async rejected(worker: WorkerRef, data: TaskRejected['data']): Promise<void> {
    // Sessions that only wait for a follow-up may be what it has no room for.
    if ((await this.messages.rejected(worker, data.task_id)) === 'taken')
      await this.idleSessions.makeRoom({ team: worker.teamUid, host: worker.workerHost });
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

  override async alive(connectionIds: readonly string[]): Promise<void> {
    if (connectionIds.length > 0) await this.executions.renew(connectionIds);
  }

  /** A journal names executions, which were offered to one worker only: they belong to the connection that tells of them. */
  private async recognize(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<Map<string, KnownTask>> {
    const ids = tasks.map(({ execution_id: id }) => id).filter((id) => EXECUTION_ID.test(id));
    if (ids.length === 0) return new Map();
    const known = await this.executions.known(ids, {
      pool: workerPool(worker.workerHost),
      slotKey: slotKey({ teamUid: worker.teamUid, userUid: null }),
    });
    const own = tasks.filter((task) => isItsOwn(task, known.get(task.execution_id)));
    if (own.length > 0) {
      const ownIds = own.map(({ execution_id: id }) => id);
      await this.executions.takeOver(this.database, ownIds, worker.connectionId);
      // Whoever runs it has claimed it, whether the claim has reached us or not.
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
  known !== undefined && known.is_ours && known.is_live && known.run_id === task.task_id;

function verdictOn(task: TaskRef, known: KnownTask | undefined): Verdict {
  if (known === undefined || !known.is_ours || known.run_id !== task.task_id) return 'unknown';
  return known.is_live && known.desired !== 'stop' && known.desired !== 'kill' ? 'keep' : 'stop';
}

function wishFor(task: TaskRef, known: KnownTask | undefined): Desired {
  if (known === undefined || !isItsOwn(task, known)) return 'lost';
  // A session that closes is its runner's affair.
  return known.desired === 'close' ? 'run' : known.desired;
}
