import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { DatabaseListener } from '#platform/persistence';
import { type WorkerRef, WorkerSockets } from '#execution/worker-gateway';
import { WORKER_OFFERS_CHANNEL, WORKER_RUNS_CHANNEL } from '../domain/lease.js';
import { WorkerExecutionsStore } from '../persistence/worker-executions.store.js';
import { WorkerOffersStore, type WorkerPlace } from '../persistence/worker-offers.store.js';
import { IdleSessions } from './idle-sessions.js';
import { WorkerDispatcher } from './worker-dispatcher.js';

/** Costs a lost notification at most this long, within the claim deadline. */
const POLL_MS = 5000;
const PLACES_AT_ONCE = 200;
const PLACE_ON_WORKERS_TASK = defineTask({
  name: 'place-on-workers',
  library: 'executions',
  process: 'api',
  scope: 'process',
  period: POLL_MS,
  description: 'Places queued runs on the workers that are connected to this process, and sends them their offers.',
  wakeUp: { by: 'a run waits for a connected worker, or one is free' },
});

/**
 * Places queued runs on the self-hosted workers whose sockets this process holds, and gives offers to them, those that other
 * processes made included.
 */
@Injectable()
export class WorkerPlacement implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly placedBy = randomUUID();
  private readonly places = new Map<string, WorkerPlace>();
  private readonly connections = new Set<string>();
  /** That have just come, and cannot tell what they run. */
  private readonly arrived = new Set<string>();
  /** The same for as long as one before them may seem to be there, and since when. */
  private readonly recent = new Map<string, number>();
  private looksForSilent = false;
  private readonly unsubscribe: (() => void)[] = [];
  private readonly task: PeriodicTask;

  constructor(
    private readonly store: WorkerOffersStore,
    private readonly executions: WorkerExecutionsStore,
    private readonly sockets: WorkerSockets,
    private readonly delivery: WorkerDispatcher,
    private readonly idleSessions: IdleSessions,
    private readonly listener: DatabaseListener,
    tasks: BackgroundTasks,
  ) {
    this.task = tasks.implement(PLACE_ON_WORKERS_TASK, (signal, cause) => {
      if (cause === 'period') this.addAll();
      return this.work(signal);
    });
  }

  onApplicationBootstrap(): void {
    this.unsubscribe.push(
      this.listener.subscribe(WORKER_RUNS_CHANNEL, (payload) => this.runWaits(payload)),
      this.listener.subscribe(WORKER_OFFERS_CHANNEL, (payload) => this.offerWaits(payload)),
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

  /** Something may be offered to this worker. */
  look({ teamUid: team, workerHost: host }: WorkerRef): void {
    this.places.set(`${team} ${host}`, { team, host });
    this.task.wake();
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

  /** Every place and connection of this process is to be handled, as notifications may have been lost. */
  private addAll(): void {
    const local = this.sockets.local();
    this.forgetRecent();
    if (local.length === 0) return;
    this.looksForSilent = true;
    for (const { connectionId, teamUid: team, workerHost: host } of local) {
      this.places.set(`${team} ${host}`, { team, host });
      this.connections.add(connectionId);
    }
  }

  private forgetRecent(): void {
    const before = performance.now() - this.executions.silenceKnownAfter - POLL_MS;
    for (const [id, since] of this.recent)
      if (since < before || this.sockets.find(id) === undefined) this.recent.delete(id);
  }

  private async work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.places.size + this.connections.size > 0) {
      await this.adopt();
      const places = [...this.places.values()].slice(0, PLACES_AT_ONCE);
      for (const { team, host } of places) this.places.delete(`${team} ${host}`);
      if (places.length > 0) await this.place(places);
      const connections = [...this.connections];
      this.connections.clear();
      if (connections.length > 0) await this.delivery.deliver(connections);
    }
  }

  private async adopt(): Promise<void> {
    const arrived = [...this.arrived];
    if (arrived.length > 0) await this.executions.adopt(arrived);
    for (const id of arrived) this.arrived.delete(id);
    if (this.looksForSilent && this.recent.size > 0) await this.executions.adoptFromSilent([...this.recent.keys()]);
    this.looksForSilent = false;
  }

  private async place(places: readonly WorkerPlace[]): Promise<void> {
    const { connectionIds, full, more } = await this.store.place(places, this.placedBy);
    const elsewhere: string[] = [];
    for (const id of connectionIds) {
      if (this.sockets.find(id) === undefined) elsewhere.push(id);
      else this.connections.add(id);
    }
    if (elsewhere.length > 0) await this.store.tell(elsewhere);
    for (const { team, host } of more) this.places.set(`${team} ${host}`, { team, host });
    for (const place of full) await this.idleSessions.closeOldestOn(place);
  }
}
