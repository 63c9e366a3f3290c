import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { setTimeout as wait } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { API_PREFIX, ProblemError, Shutdown, toProblemError, type Upgrade, Upgrades } from '#platform/http';
import { within } from '#platform/kernel';
import { CLOSE_CODES, MAX_FRAME_BYTES, WORKER_SOCKET_PATH } from '#execution/worker-protocol';
import { Connections } from './connections.js';
import { WorkerAdmission } from './worker-admission.js';
import { WorkerMeters } from './worker-meters.js';
import { WorkerReception } from './worker-reception.js';

/** Requests whose token is being looked at. */
const MAX_PENDING = 1_000;
const ADMISSION_TIMEOUT_MS = 10_000;
const CLOSE_GRACE_MS = 2_000;

/**
 * The socket that workers dial, on the API's own port: refuses before the upgrade, as problem documents, and hands what
 * it lets in to the reception.
 */
@Injectable()
export class WorkerGateway implements OnModuleInit {
  private readonly logger = new Logger('Workers');
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  private pending = 0;

  constructor(
    private readonly upgrades: Upgrades,
    private readonly shutdown: Shutdown,
    private readonly admission: WorkerAdmission,
    private readonly reception: WorkerReception,
    private readonly connections: Connections,
    private readonly meters: WorkerMeters,
  ) {}

  onModuleInit(): void {
    this.upgrades.on(API_PREFIX + WORKER_SOCKET_PATH, (upgrade) => void this.receive(upgrade));
    this.shutdown.onShutdown(() => this.close());
  }

  private async receive(upgrade: Upgrade): Promise<void> {
    this.pending += 1;
    try {
      await this.admit(upgrade);
    } catch (error) {
      this.refuse(upgrade, error);
    } finally {
      this.pending -= 1;
    }
  }

  private async admit(upgrade: Upgrade): Promise<void> {
    if (this.shutdown.hasBegun) throw unavailable('The service is going down.');
    if (this.pending > MAX_PENDING) throw unavailable('Too many workers connect at this moment.');
    const admitted = await within(ADMISSION_TIMEOUT_MS, this.admission.admit(upgrade.request), tooLate);
    if (upgrade.socket.destroyed) return;
    // It may have begun to go down meanwhile, and have closed what was open.
    if (this.shutdown.hasBegun) throw unavailable('The service is going down.');
    const refused = (error: Error): void => this.refuse(upgrade, invalidHandshake(error));
    this.server.once('wsClientError', refused);
    try {
      // Calls back before it returns, or not at all.
      this.server.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, (socket: WebSocket) => {
        this.meters.handshake(101);
        this.reception.welcome(socket, admitted, upgrade);
      });
    } finally {
      this.server.off('wsClientError', refused);
    }
  }

  private refuse(upgrade: Upgrade, error: unknown): void {
    const problem = toProblemError(error);
    if (problem.status >= 500 && problem.code !== 'resource_unavailable') {
      this.logger.error('A worker’s connection failed.', {
        stack: error instanceof Error ? error.stack : String(error),
      });
    }
    this.meters.handshake(problem.status);
    if (upgrade.socket.writable) upgrade.reject(problem);
    else upgrade.socket.destroy();
  }

  /** Tells the workers that this process goes, and waits for what they have said to be handled. */
  private async close(): Promise<void> {
    for (const connection of this.connections.all()) {
      connection.close(CLOSE_CODES.goingAway, 'The server is going down.');
    }
    await Promise.race([this.connections.none(), wait(CLOSE_GRACE_MS, undefined, { ref: false })]);
    for (const connection of this.connections.all()) connection.destroy();
    await Promise.race([this.reception.settled(), wait(CLOSE_GRACE_MS, undefined, { ref: false })]);
    await this.reception.forgetAll();
  }
}

const unavailable = (detail: string): ProblemError =>
  new ProblemError('resource_unavailable', detail, { retryAfterSeconds: 1 });

/** Of the handshake itself, RFC 6455. A server that speaks one version of it says so. */
const invalidHandshake = (error: Error): ProblemError =>
  new ProblemError('invalid_request', `This is no WebSocket handshake: ${error.message}.`, {
    headers: { 'Sec-WebSocket-Version': '13' },
  });

const tooLate = (): never => {
  throw unavailable('The token could not be looked at in time.');
};
