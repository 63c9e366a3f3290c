import { performance } from 'node:perf_hooks';
import { Injectable, Logger } from '@nestjs/common';
import type { WebSocket } from 'ws';
import type { Upgrade } from '#platform/http';
import { Clock, KeyedSemaphore, newUuid } from '#platform/kernel';
import { HELLO_HEADER } from '#execution/worker-protocol';
import { HandleFrame } from '../application/handle-frame.js';
import { WorkerSession } from '../application/worker-session.js';
import { PresenceStore } from '../persistence/presence.store.js';
import { FrameReader, nameOf } from './frame-reader.js';
import type { AuthenticatedWorker } from './worker-authenticator.js';
import { WorkerConnection } from './worker-connection.js';
import { WorkerMetrics } from './worker-metrics.js';
import { WorkerSockets } from './worker-sockets.js';

/** Frames of all connections that are handled at once: each needs a connection to the database. */
const MAX_FRAMES = 16;
/** The close code of a worker whose process ends. A worker that only connects again does not close its connection. */
const NORMAL_CLOSURE = 1000;

@Injectable()
export class WorkerRegistration {
  private readonly logger = new Logger('Workers');
  private readonly semaphore = new KeyedSemaphore({ total: MAX_FRAMES });
  /** Identifies this process in the rows of its connections. */
  private readonly instance = newUuid();
  /** Connections, open or closed, whose frames are not all handled. */
  private readonly unsettled = new Set<WorkerConnection>();

  constructor(
    private readonly frames: FrameReader,
    private readonly handleFrame: HandleFrame,
    private readonly presence: PresenceStore,
    private readonly sockets: WorkerSockets,
    private readonly metrics: WorkerMetrics,
    private readonly clock: Clock,
  ) {}

  register(socket: WebSocket, worker: AuthenticatedWorker, { request, traceId }: Upgrade): void {
    const { teamUid, workerHost, accountUid, tokenUid } = worker;
    const ref = { connectionId: newUuid(), teamUid, workerHost, accountUid, speaksHello: false };
    const awaitsHello = request.headers[HELLO_HEADER] === '1';
    const session = new WorkerSession(ref, this.instance, this.clock.now(), performance.now(), awaitsHello);
    const failed = (what: string, error: unknown): void => this.failed(session, what, error);
    const connection = new WorkerConnection(socket, session, tokenUid, this.metrics, this.semaphore, failed);
    this.sockets.add(connection);
    this.unsettled.add(connection);
    socket.on('error', (error) => this.logger.debug('A worker’s connection broke.', { error: error.message }));
    socket.once('close', (code) => void this.unregister(connection, code));
    this.frames.listen(socket, connection);
    this.logger.log('worker connected', { ...nameOf(session.ref), trace_id: traceId });
    if (session.mayBeAnnounced) this.announce(connection);
  }

  /** Makes the worker visible to other processes, after the frames that it has sent until now. */
  announce(connection: WorkerConnection): void {
    connection.inbox.push('connect', () => this.handleFrame.announce(connection));
  }

  async settled(): Promise<void> {
    await Promise.all([...this.unsettled].map(({ inbox }) => inbox.idle()));
  }

  async removeAll(): Promise<void> {
    await this.presence.removeInstance(this.instance).catch((error: Error) => {
      this.logger.warn('The connections of this process stay listed until they expire.', { error: error.message });
    });
  }

  private async unregister(connection: WorkerConnection, code: number): Promise<void> {
    const { session } = connection;
    connection.destroy();
    this.sockets.remove(connection);
    this.logger.log('worker disconnected', { ...nameOf(session.ref), code });
    // Before the row is removed: afterwards the next connection would adopt the tasks of this one.
    if (code === NORMAL_CLOSURE) await this.attempt(session, 'leaving', () => this.handleFrame.leaving(session));
    await this.attempt(session, 'disconnect', () => this.handleFrame.forget(session));
    await connection.inbox.idle();
    if (code === NORMAL_CLOSURE) await this.attempt(session, 'left', () => this.handleFrame.left(session));
    this.unsettled.delete(connection);
  }

  /** A failure here is compensated by a timeout of the connection, of a lease or of an offer. */
  private async attempt({ ref }: WorkerSession, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.logger.warn('The end of a connection was not stored.', { step: what, ...nameOf(ref), error: reason });
    }
  }

  private failed({ ref }: WorkerSession, what: string, error: unknown): void {
    const stack = error instanceof Error ? error.stack : String(error);
    this.logger.error('A frame of a worker was not handled.', { type: what, ...nameOf(ref), stack });
  }
}
