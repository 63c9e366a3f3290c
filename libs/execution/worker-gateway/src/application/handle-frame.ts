import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import type { Beat, Hello, TaskClaimed, TaskFailed, TaskRejected, WorkerFrame } from '#execution/worker-protocol';
import { PresenceStore } from '../persistence/presence.store.js';
import type { WorkerConnection } from '../socket/worker-connection.js';
import { WorkerSockets } from '../socket/worker-sockets.js';
import type { WorkerSession } from './worker-session.js';
import { WorkerTasks } from './worker-tasks.js';

const SECOND_MS = 1_000;
const LONGEST_BEAT_SECONDS = 30;
/** The reason that the published daemon reports for tasks that it kills because its own process stops. */
const GRACEFUL_SHUTDOWN = 'graceful_shutdown';

/** Handles the frames of workers. Each frame may be handled again after a failure. */
@Injectable()
export class HandleFrame {
  constructor(
    private readonly tasks: WorkerTasks,
    private readonly presence: PresenceStore,
    private readonly sockets: WorkerSockets,
    private readonly settings: Settings,
  ) {}

  /** `receivedAt`: of a monotonic clock. */
  async execute(source: WorkerConnection, frame: WorkerFrame, receivedAt: number): Promise<void> {
    const { session } = source;
    switch (frame.type) {
      case 'task_claimed':
        return this.claimed(session, frame.data, receivedAt);
      case 'task_rejected':
        return this.rejected(session, frame.data);
      case 'task_completed':
        await this.tasks.completed(session.ref, frame.data);
        return this.ended(session);
      case 'task_failed':
        return this.failed(session, frame.data);
      case 'hello':
        return this.hello(source, frame.data);
      case 'beat':
        return this.beat(source, frame.data);
      case 'heartbeat':
        return;
    }
  }

  /** From now on runs may be offered to it, here and by other processes. */
  async announce(source: WorkerConnection): Promise<void> {
    const { session } = source;
    session.isUsable = true;
    if (!session.announced && !session.ref.speaksHello) await this.tasks.arriving(session.ref);
    await this.presence.put(session.row(performance.now()));
    if (!source.isOpen) return this.forget(session);
    const first = !session.announced;
    session.announced = true;
    if (first) this.tasks.connected(session.ref);
    else this.tasks.slotFreed(session.ref);
  }

  async forget(session: WorkerSession): Promise<void> {
    session.isUsable = false;
    await this.presence.remove(session.id);
  }

  /** The process of the worker ends: it closed the connection normally. */
  async leaving(session: WorkerSession): Promise<void> {
    session.isUsable = false;
    await this.tasks.leaving(session.ref);
  }

  async left(session: WorkerSession): Promise<void> {
    await this.tasks.left(session.ref);
  }

  private async hello(source: WorkerConnection, data: Hello['data']): Promise<void> {
    const { session } = source;
    if (!source.isOpen) return;
    const { tasks, ...report } = data;
    session.report = report;
    session.freeSlots = Math.max(0, report.slots - tasks.length);
    session.ref = { ...session.ref, speaksHello: true };
    // Before its tasks are reconciled, which may send frames; runs are offered to it only afterwards.
    session.isUsable = true;
    await this.presence.supersede(session.row(performance.now()));
    const verdicts = tasks.length === 0 ? [] : await this.tasks.reconcile(session.ref, tasks);
    // Protocol 1 has no optional features yet.
    source.send({ type: 'hello', data: { features: [], ...this.rhythm(), tasks: verdicts } });
    await this.announce(source);
  }

  private async beat(
    source: WorkerConnection,
    { draining, free_slots: freeSlots, tasks }: Beat['data'],
  ): Promise<void> {
    const { session } = source;
    if (!source.isOpen) return;
    const changed = session.draining !== draining || session.freeSlots !== freeSlots;
    session.draining = draining;
    session.freeSlots = freeSlots;
    if (changed && session.announced) await this.presence.touch(session.state(performance.now()));
    const desired = tasks.length === 0 ? [] : await this.tasks.desired(session.ref, tasks);
    source.send({ type: 'beat', data: { ...this.rhythm(), tasks: desired } });
    if (changed && !draining && freeSlots > 0) this.tasks.slotFreed(session.ref);
  }

  private async claimed(session: WorkerSession, data: TaskClaimed['data'], receivedAt: number): Promise<void> {
    // It claims tasks until its process ends, and kills them without a report.
    if (session.isStopping) return;
    await this.tasks.claimed(session.ref, data, performance.now() - receivedAt);
    if (session.ref.speaksHello) return;
    const { capacity } = session;
    if (capacity.slots !== null && capacity.claimed(await this.tasks.executing(session.ref)))
      await this.presence.touch(session.state(performance.now()));
    // It answers offers one after the other: the next one may be made.
    this.tasks.slotFreed(session.ref);
  }

  private async rejected(session: WorkerSession, data: TaskRejected['data']): Promise<void> {
    const executing = await this.tasks.executing(session.ref);
    const now = performance.now();
    const pauseMs = session.capacity.rejected(executing, now);
    // Before the run goes back to the queue, where it would be offered to this connection again.
    await this.presence.touch(session.state(now));
    if (pauseMs > 0) {
      // After the pause was stored, so that it has ended in the database as well.
      setTimeout(() => {
        if (this.sockets.find(session.id) !== undefined) this.tasks.slotFreed(session.ref);
      }, pauseMs).unref();
    }
    await this.tasks.rejected(session.ref, data);
  }

  private async failed(session: WorkerSession, data: TaskFailed['data']): Promise<void> {
    if (!session.ref.speaksHello && data.failure_reason === GRACEFUL_SHUTDOWN) {
      session.isStopping = true;
      session.draining = true;
      // Before the run goes back to the queue, where it would be offered to this connection.
      await this.presence.touch(session.state(performance.now()));
    }
    await this.tasks.failed(session.ref, data);
    await this.ended(session);
  }

  private async ended(session: WorkerSession): Promise<void> {
    const { capacity } = session;
    if (capacity.slots !== null && capacity.ended(await this.tasks.executing(session.ref)))
      await this.presence.touch(session.state(performance.now()));
    this.tasks.slotFreed(session.ref);
  }

  private rhythm(): { ttl_seconds: number; next_beat_seconds: number } {
    const ttl = this.settings.leaseTtl / SECOND_MS;
    return { ttl_seconds: ttl, next_beat_seconds: Math.min(LONGEST_BEAT_SECONDS, ttl / 3) };
  }
}
