import { performance } from 'node:perf_hooks';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { TaskDoor } from '../application/task-door.js';
import { PresenceStore } from '../persistence/presence.store.js';
import { Connections } from './connections.js';
import { WorkerAdmission } from './worker-admission.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerReception } from './worker-reception.js';

/** Of the time after which a silent connection is dropped. */
const TICKS = 18;
const TICKS_PER_PING = 6;
const TICKS_PER_PRESENCE = 2;
const TICKS_PER_CLEANING = 18;
/** A gap up to this counts as none; a worker that had a connection before is back soon after it. */
const TICKS_REACHABLE = 6;

/**
 * What happens by the clock: asking for signs of life, dropping who gives none, telling the database and the leases who
 * does, and closing what a token let in that counts no more. One statement each for all connections.
 */
@Injectable()
export class WorkerPulse implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Workers');
  private readonly tickMs: number;
  private timer: NodeJS.Timeout | null = null;
  private ticks = 0;
  private aliveSince = performance.now();
  private tickedAt = performance.now();
  /** Until then nobody is dropped: this process was held up itself, and what was sent meanwhile is still to be read. */
  private lenientUntil = 0;
  private readonly underWay = new Set<string>();

  constructor(
    private readonly connections: Connections,
    private readonly reception: WorkerReception,
    private readonly presence: PresenceStore,
    private readonly door: TaskDoor,
    private readonly admission: WorkerAdmission,
    private readonly settings: Settings,
  ) {
    this.tickMs = settings.workerHeartbeatTimeout / TICKS;
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.tick(), this.tickMs);
  }

  onModuleDestroy(): void {
    if (this.timer) clearInterval(this.timer);
  }

  private tick(): void {
    this.ticks += 1;
    const now = performance.now();
    const all = this.connections.all();
    const pingMs = this.tickMs * TICKS_PER_PING;
    if (now - this.tickedAt > 2 * this.tickMs) this.lenientUntil = now + pingMs;
    this.tickedAt = now;
    for (const connection of all) {
      const isSilent = connection.silentFor(now) > this.settings.workerHeartbeatTimeout;
      if (isSilent && now >= this.lenientUntil) connection.drop('silent');
      else connection.ping(pingMs);
    }
    this.once('leases', () => this.tellLeases(all));
    this.once('offers', () => this.keepOffers(all));
    this.once('reachability', () => this.presence.noteReachable(this.tickMs * TICKS_REACHABLE));
    if (this.ticks % TICKS_PER_PRESENCE === 0) {
      this.once('presence', () => this.refresh(all));
      this.once('tokens', () => this.checkTokens(all));
    }
    if (this.ticks % TICKS_PER_CLEANING === 0) this.once('cleaning', () => this.presence.removeDead());
  }

  private async tellLeases(all: readonly WorkerConnection[]): Promise<void> {
    const since = this.aliveSince;
    const now = performance.now();
    const alive = all.filter(({ session }) => session.seenAt > since).map(({ session }) => session.id);
    if (alive.length > 0) await this.door.tasks.alive(alive);
    // Only now: those of a call that failed are told again.
    this.aliveSince = now;
  }

  private async keepOffers(all: readonly WorkerConnection[]): Promise<void> {
    const busy = all.filter(({ inbox }) => !inbox.isIdle).map(({ session }) => session.id);
    if (busy.length > 0) await this.door.tasks.unread(busy);
  }

  private async refresh(all: readonly WorkerConnection[]): Promise<void> {
    const now = performance.now();
    const listed = all.filter(({ session, isOpen }) => isOpen && session.announced);
    const found = await Promise.all(listed.map(({ session }) => this.presence.touch(session.state(now))));
    const lost = listed.filter((_connection, index) => found[index] === false);
    const late = all.filter(({ session, isOpen }) => isOpen && !session.announced && session.mayBeAnnounced);
    for (const connection of [...lost, ...late]) if (connection.inbox.isIdle) this.reception.announce(connection);
  }

  private async checkTokens(all: readonly WorkerConnection[]): Promise<void> {
    const ended = await this.admission.ended([...new Set(all.map(({ tokenUid }) => tokenUid))]);
    for (const connection of all) if (ended.has(connection.tokenUid)) connection.drop('token_ended');
  }

  /** Not while it is still under way: a slow database gets no queue of the same question. */
  private once(what: string, work: () => Promise<void>): void {
    if (this.underWay.has(what)) return;
    this.underWay.add(what);
    work()
      .catch((error: Error) => this.logger.warn(`Workers: ${what} not written.`, { error: error.message }))
      .finally(() => this.underWay.delete(what));
  }
}
