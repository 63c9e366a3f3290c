import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { maxEntries } from '#platform/kernel';
import { DatabaseListener, isDatabaseUnavailable } from '#platform/persistence';
import { type WorkerRef, WorkerSockets } from '#execution/worker-gateway';
import { ExecutionTokens } from '../domain/execution-token.js';
import { WORKER_OFFERS_CHANNEL, WORKER_RUNS_CHANNEL, WORKER_STOPS_CHANNEL } from '../domain/lease.js';
import { type WorkerPoolKeys, workerPoolKeys } from '../domain/run.js';
import { toAssignmentFrame, type WorkerOffer } from '../domain/worker-assignment.js';
import { OFFERS_AT_ONCE, PlacementStore } from '../persistence/placement.store.js';
import { WorkerExecutionsStore } from '../persistence/worker-executions.store.js';
import { WorkerOffersStore, type WorkerStop } from '../persistence/worker-offers.store.js';
import { AssignmentSource } from './assignment-source.js';
import { IdleSessions } from './idle-sessions.js';

/** Costs a lost notification at most this long, within the claim deadline. */
const POLL_MS = 5000;
const POOLS_AT_ONCE = 200;
const MAX_REMEMBERED = 20_000;

const PLACE_ON_WORKERS_TASK = defineTask({
  name: 'place-on-workers',
  library: 'executions',
  process: 'api',
  scope: 'process',
  period: POLL_MS,
  description: 'Places queued runs on the workers that are connected to this process, and sends them their offers.',
  wakeUp: { by: 'a run waits for a connected worker, or one is free' },
});

/** Also sends offers and cancellations of other processes to the workers whose sockets this process holds. */
@Injectable()
export class WorkerPlacement implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WorkerPlacement.name);
  private readonly placedBy = randomUUID();
  private readonly tokens: ExecutionTokens;
  /** The execution that a connection was last offered of a run: a cancellation of an earlier one must not hit it. */
  private readonly lastOffered = new LRUCache<string, string>(maxEntries(MAX_REMEMBERED));
  private readonly pools = new Map<string, WorkerPoolKeys>();
  private readonly connections = new Set<string>();
  /** That have just come, and cannot tell what they run. */
  private readonly arrived = new Set<string>();
  /** The same for as long as one before them may seem to be there, and since when. */
  private readonly recent = new Map<string, number>();
  private looksForSilent = false;
  private readonly unsubscribe: (() => void)[] = [];
  private readonly task: PeriodicTask;

  constructor(
    private readonly settings: Settings,
    private readonly placement: PlacementStore,
    private readonly offers: WorkerOffersStore,
    private readonly executions: WorkerExecutionsStore,
    private readonly sockets: WorkerSockets,
    private readonly assignments: AssignmentSource,
    private readonly idleSessions: IdleSessions,
    private readonly listener: DatabaseListener,
    tasks: BackgroundTasks,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.task = tasks.implement(PLACE_ON_WORKERS_TASK, (signal, cause) => {
      if (cause === 'period') this.addAll();
      return this.work(signal);
    });
  }

  onApplicationBootstrap(): void {
    this.unsubscribe.push(
      this.listener.subscribe(WORKER_RUNS_CHANNEL, (payload) => this.runWaits(payload)),
      this.listener.subscribe(WORKER_OFFERS_CHANNEL, (payload) => this.offerWaits(payload)),
      this.listener.subscribe(WORKER_STOPS_CHANNEL, (payload) => this.toStop(payload)),
    );
  }

  async onModuleDestroy(): Promise<void> {
    for (const end of this.unsubscribe) end();
    await this.task.stop();
  }

  /** A worker has come: what one before it left is looked after, and something may be offered to it. */
  welcome(worker: WorkerRef): void {
    if (!worker.speaksHello) {
      this.arrived.add(worker.connectionId);
      this.recent.set(worker.connectionId, performance.now());
    }
    this.look(worker);
  }

  look(worker: WorkerRef): void {
    this.add(workerPoolKeys(worker));
    this.task.wake();
  }

  private add(keys: WorkerPoolKeys): void {
    this.pools.set(`${keys.slotKey} ${keys.pool}`, keys);
  }

  private runWaits(payload: string): void {
    if (payload === '') {
      this.addAll();
      return this.task.wake();
    }
    const space = payload.indexOf(' ');
    const [team, host] = [payload.slice(0, space), payload.slice(space + 1)];
    const worker = this.sockets.local().find((ref) => ref.workerHost === host && ref.teamUid === team);
    if (worker) this.look(worker);
  }

  private offerWaits(connectionId: string): void {
    if (this.sockets.find(connectionId) === undefined) return;
    this.connections.add(connectionId);
    this.task.wake();
  }

  /** Every pool and connection of this process is to be handled, as notifications may have been lost. */
  private addAll(): void {
    const local = this.sockets.local();
    this.forgetRecent();
    if (local.length === 0) return;
    this.looksForSilent = true;
    for (const worker of local) {
      this.add(workerPoolKeys(worker));
      this.connections.add(worker.connectionId);
    }
  }

  private forgetRecent(): void {
    const before = performance.now() - this.executions.silenceKnownAfter - POLL_MS;
    for (const [id, since] of this.recent)
      if (since < before || this.sockets.find(id) === undefined) this.recent.delete(id);
  }

  private async work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.pools.size + this.connections.size > 0) {
      await this.adopt();
      const pools = [...this.pools].slice(0, POOLS_AT_ONCE);
      for (const [key] of pools) this.pools.delete(key);
      if (pools.length > 0) await this.place(pools.map(([, keys]) => keys));
      const connections = [...this.connections];
      this.connections.clear();
      if (connections.length > 0) await this.deliver(connections);
    }
  }

  private async adopt(): Promise<void> {
    const arrived = [...this.arrived];
    if (arrived.length > 0) await this.executions.adopt(arrived);
    for (const id of arrived) this.arrived.delete(id);
    if (this.looksForSilent && this.recent.size > 0) await this.executions.adopt([...this.recent.keys()], true);
    this.looksForSilent = false;
  }

  private async place(pools: readonly WorkerPoolKeys[]): Promise<void> {
    const placements = await this.placement.placeOnWorkers(pools, this.placedBy);
    const connectionIds = new Set(placements.flatMap(({ connectionId }) => connectionId ?? []));
    const elsewhere = [...connectionIds].filter((id) => this.sockets.find(id) === undefined);
    for (const id of connectionIds) if (this.sockets.find(id) !== undefined) this.connections.add(id);
    if (elsewhere.length > 0) await this.offers.notify(elsewhere);
    for (const keys of pools) {
      const own = placements.filter(({ pool, slotKey }) => pool === keys.pool && slotKey === keys.slotKey);
      // Maybe more can be offered.
      if (own.length >= OFFERS_AT_ONCE) this.add(keys);
      if (own.some(({ connectionId }) => connectionId === null)) await this.idleSessions.closeOldestOn(keys);
    }
  }

  private async deliver(connectionIds: readonly string[]): Promise<void> {
    const offers = await this.offers.dequeue(connectionIds);
    const sent = await Promise.all(offers.map((offer) => this.send(offer)));
    const unsent = offers.filter((_, index) => !sent[index]).map(({ executionId }) => executionId);
    if (unsent.length > 0) await this.offers.requeue(unsent);
  }

  /** The worker is to stop an execution, unless it was given a later one of the same run. */
  stop({ connectionId, runId, executionId }: WorkerStop): void {
    const last = this.lastOffered.get(`${connectionId} ${runId}`);
    if (last !== undefined && BigInt(last) > BigInt(executionId)) return;
    this.sockets.send(connectionId, { type: 'task_cancellation', data: { task_id: runId } });
  }

  private async send(offer: WorkerOffer): Promise<boolean> {
    try {
      const worker = this.sockets.find(offer.connectionId);
      // Our own worker's runner asks for secrets with its claim, and brings its runner; others need both in the assignment.
      const { config, dockerImage, secrets } = await this.assignments.describeOffer(
        offer.config,
        worker && !worker.speaksHello ? worker.teamUid : null,
      );
      const { workerSidecarImage: sidecarImage } = this.settings;
      const frame = toAssignmentFrame(
        { ...offer, config },
        {
          token: this.tokens.mint(offer.executionId),
          dockerImage,
          sidecarImage: sidecarImage === '' || worker?.speaksHello === true ? null : sidecarImage,
          secrets,
        },
      );
      const isSent = this.sockets.send(offer.connectionId, frame);
      if (isSent) this.lastOffered.set(`${offer.connectionId} ${offer.runId}`, offer.executionId);
      return isSent;
    } catch (error) {
      this.logger.error({
        msg: 'An offer could not be put together.',
        execution_id: offer.executionId,
        run_id: offer.runId,
        error: error instanceof Error ? error.stack : String(error),
      });
      return false;
    }
  }

  private toStop(payload: string): void {
    if (payload === '') {
      void this.stopWhatWasMissed();
      return;
    }
    const [connectionId = '', runId = '', executionId = ''] = payload.split(' ');
    if (this.sockets.find(connectionId)) this.stop({ connectionId, runId, executionId });
  }

  private async stopWhatWasMissed(): Promise<void> {
    try {
      const local = this.sockets.local().map(({ connectionId }) => connectionId);
      if (local.length === 0) return;
      for (const stop of await this.offers.toStop(local)) this.stop(stop);
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.error(error);
    }
  }
}
