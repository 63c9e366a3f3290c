import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask, type TaskDefinition } from '#platform/jobs';
import { WorkerTasks } from '../application/worker-tasks.js';
import { PresenceStore } from '../persistence/presence.store.js';
import { WorkerAuthenticator } from './worker-authenticator.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerRegistration } from './worker-registration.js';
import { WorkerSockets } from './worker-sockets.js';

/** Of the time after which a silent connection is closed. */
const TICKS = 18;
const TICKS_PER_PING = 6;
const TICKS_PER_PRESENCE = 2;
const TICKS_PER_CLEANING = 18;
/** A shorter gap does not count: workers reconnect soon after it. */
const TICKS_REACHABLE = 6;

/** `ticks`: the period, in eighteenths of `WORKER_HEARTBEAT_TIMEOUT`. */
const everyTicks = (ticks: number, name: string, description: string): TaskDefinition =>
  defineTask({
    name,
    library: 'worker-gateway',
    process: 'api',
    scope: 'process',
    period: {
      text: ticks === TICKS ? '`WORKER_HEARTBEAT_TIMEOUT`' : `\`WORKER_HEARTBEAT_TIMEOUT\` / ${TICKS / ticks}`,
      of: ({ workerHeartbeatTimeout }) => (workerHeartbeatTimeout / TICKS) * ticks,
    },
    description,
  });
const PING_WORKERS_TASK = everyTicks(1, 'ping-workers', 'Pings workers, and closes the connections of silent ones.');
const RENEW_LEASES_TASK = everyTicks(1, 'renew-worker-leases', 'Renews the leases of workers that sent something.');
const EXTEND_OFFERS_TASK = everyTicks(
  1,
  'extend-worker-offers',
  'Extends the offers of workers with frames that are not handled yet.',
);
const RECORD_REACHABILITY_TASK = everyTicks(1, 'record-reachability', 'Records that workers can connect.');
const RECORD_PRESENCE_TASK = everyTicks(TICKS_PER_PRESENCE, 'record-presence', 'Records which workers are connected.');
const CHECK_TOKENS_TASK = everyTicks(
  TICKS_PER_PRESENCE,
  'check-worker-tokens',
  'Closes connections whose token has been revoked or has expired.',
);
const REMOVE_DEAD_TASK = everyTicks(
  TICKS_PER_CLEANING,
  'remove-dead-connections',
  'Deletes rows of connections that ended without being closed.',
);

/** One statement each for all connections. */
@Injectable()
export class HeartbeatMonitor {
  private readonly tickMs: number;
  private aliveSince = performance.now();
  private tickedAt = performance.now();
  /** Until then no connection is closed: this process was delayed, and has not read what workers sent meanwhile. */
  private lenientUntil = 0;

  constructor(
    private readonly sockets: WorkerSockets,
    private readonly registration: WorkerRegistration,
    private readonly presence: PresenceStore,
    private readonly workerTasks: WorkerTasks,
    private readonly authenticator: WorkerAuthenticator,
    private readonly settings: Settings,
    tasks: BackgroundTasks,
  ) {
    this.tickMs = settings.workerHeartbeatTimeout / TICKS;
    tasks.implement(PING_WORKERS_TASK, () => Promise.resolve(this.ping()));
    tasks.implement(RENEW_LEASES_TASK, () => this.renewLeases());
    tasks.implement(EXTEND_OFFERS_TASK, () => this.extendOffers());
    tasks.implement(RECORD_REACHABILITY_TASK, () => this.presence.noteReachable(this.tickMs * TICKS_REACHABLE));
    tasks.implement(RECORD_PRESENCE_TASK, () => this.recordPresence());
    tasks.implement(CHECK_TOKENS_TASK, () => this.checkTokens());
    tasks.implement(REMOVE_DEAD_TASK, () => this.presence.removeDead());
  }

  private ping(): void {
    const now = performance.now();
    const pingMs = this.tickMs * TICKS_PER_PING;
    if (now - this.tickedAt > 2 * this.tickMs) this.lenientUntil = now + pingMs;
    this.tickedAt = now;
    for (const connection of this.sockets.all()) {
      const isSilent = connection.silentFor(now) > this.settings.workerHeartbeatTimeout;
      if (isSilent && now >= this.lenientUntil) connection.drop('silent');
      else connection.ping(pingMs);
    }
  }

  private async renewLeases(): Promise<void> {
    const since = this.aliveSince;
    const now = performance.now();
    const alive = this.sockets
      .all()
      .filter(({ session }) => session.seenAt > since)
      .map(({ session }) => session.id);
    if (alive.length > 0) await this.workerTasks.alive(alive);
    // Only now: a call that fails is repeated for the same connections.
    this.aliveSince = now;
  }

  private async extendOffers(): Promise<void> {
    const busy = this.sockets
      .all()
      .filter(({ inbox }) => !inbox.isIdle)
      .map(({ session }) => session.id);
    if (busy.length > 0) await this.workerTasks.unread(busy);
  }

  private async recordPresence(): Promise<void> {
    const all = this.sockets.all();
    const now = performance.now();
    const listed = all.filter(({ session, isOpen }) => isOpen && session.announced);
    const found = await Promise.all(listed.map(({ session }) => this.presence.touch(session.state(now))));
    const lost = listed.filter((_connection, index) => found[index] === false);
    const late = all.filter(({ session, isOpen }) => isOpen && !session.announced && session.mayBeAnnounced);
    for (const connection of [...lost, ...late]) if (connection.inbox.isIdle) this.registration.announce(connection);
  }

  private async checkTokens(): Promise<void> {
    const all: readonly WorkerConnection[] = this.sockets.all();
    const ended = await this.authenticator.ended([...new Set(all.map(({ tokenUid }) => tokenUid))]);
    for (const connection of all) if (ended.has(connection.tokenUid)) connection.drop('token_ended');
  }
}
