import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { setTimeout as wait } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { API_PREFIX, ProblemError, Shutdown, toProblemError, type Upgrade, Upgrades } from '#platform/http';
import { within } from '#platform/kernel';
import { DatabaseListener } from '#platform/persistence';
import { CLOSE_CODES, MAX_FRAME_BYTES, WORKER_SOCKET_PATH } from '#execution/worker-protocol';
import { SUPERSEDED_CHANNEL } from '../persistence/presence.store.js';
import { WorkerAuthenticator } from './worker-authenticator.js';
import { WorkerMetrics } from './worker-metrics.js';
import { WorkerRegistration } from './worker-registration.js';
import { WorkerSockets } from './worker-sockets.js';

/** Requests that are being authenticated. */
const MAX_PENDING = 1_000;
const AUTHENTICATION_TIMEOUT_MS = 10_000;
const CLOSE_GRACE_MS = 2_000;

/** Rejects requests before the upgrade, with problem documents. */
@Injectable()
export class WorkerGateway implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Workers');
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  private pending = 0;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly upgrades: Upgrades,
    private readonly shutdown: Shutdown,
    private readonly authenticator: WorkerAuthenticator,
    private readonly registration: WorkerRegistration,
    private readonly sockets: WorkerSockets,
    private readonly metrics: WorkerMetrics,
    private readonly listener: DatabaseListener,
  ) {}

  onModuleInit(): void {
    this.upgrades.on(API_PREFIX + WORKER_SOCKET_PATH, (upgrade) => void this.receive(upgrade));
    this.shutdown.onShutdown(() => this.close());
    this.unsubscribe = this.listener.subscribe(SUPERSEDED_CHANNEL, (id) =>
      this.sockets.connection(id)?.drop('superseded'),
    );
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }

  private async receive(upgrade: Upgrade): Promise<void> {
    this.pending += 1;
    try {
      await this.accept(upgrade);
    } catch (error) {
      this.reject(upgrade, error);
    } finally {
      this.pending -= 1;
    }
  }

  private async accept(upgrade: Upgrade): Promise<void> {
    if (this.shutdown.hasBegun) throw unavailable('The service is shutting down.');
    if (this.pending > MAX_PENDING) throw unavailable('Too many workers connect at the moment.');
    const worker = await within(
      AUTHENTICATION_TIMEOUT_MS,
      this.authenticator.authenticate(upgrade.request),
      authenticationTimedOut,
    );
    if (upgrade.socket.destroyed) return;
    // A shutdown may have begun meanwhile and have closed the open connections.
    if (this.shutdown.hasBegun) throw unavailable('The service is shutting down.');
    const rejectHandshake = (error: Error): void => this.reject(upgrade, invalidHandshake(error));
    this.server.once('wsClientError', rejectHandshake);
    try {
      // Calls back before it returns, or not at all.
      this.server.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, (socket: WebSocket) => {
        this.metrics.handshakes.inc({ status: '101' });
        this.registration.register(socket, worker, upgrade);
      });
    } finally {
      this.server.off('wsClientError', rejectHandshake);
    }
  }

  private reject(upgrade: Upgrade, error: unknown): void {
    const problem = toProblemError(error);
    if (problem.status >= 500 && problem.code !== 'resource_unavailable') {
      this.logger.error('A worker’s connection failed.', {
        stack: error instanceof Error ? error.stack : String(error),
      });
    }
    this.metrics.handshakes.inc({ status: String(problem.status) });
    if (upgrade.socket.writable) upgrade.reject(problem);
    else upgrade.socket.destroy();
  }

  private async close(): Promise<void> {
    const open = this.sockets.all();
    for (const connection of open) connection.close(CLOSE_CODES.goingAway, 'The server is going down.');
    await Promise.race([
      Promise.all(open.map(({ closed }) => closed)),
      wait(CLOSE_GRACE_MS, undefined, { ref: false }),
    ]);
    for (const connection of this.sockets.all()) connection.destroy();
    await Promise.race([this.registration.settled(), wait(CLOSE_GRACE_MS, undefined, { ref: false })]);
    await this.registration.removeAll();
  }
}

const unavailable = (detail: string): ProblemError =>
  new ProblemError('resource_unavailable', detail, { retryAfterSeconds: 1 });

/** The answer to an invalid handshake (RFC 6455), with the version that the server supports. */
const invalidHandshake = (error: Error): ProblemError =>
  new ProblemError('invalid_request', `The request is not a valid WebSocket handshake: ${error.message}.`, {
    headers: { 'Sec-WebSocket-Version': '13' },
  });

const authenticationTimedOut = (): never => {
  throw unavailable('The token could not be checked in time.');
};
