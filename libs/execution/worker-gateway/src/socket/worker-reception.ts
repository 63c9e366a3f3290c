import { performance } from 'node:perf_hooks';
import { Injectable, Logger } from '@nestjs/common';
import type { WebSocket } from 'ws';
import type { Upgrade } from '#platform/http';
import { Clock, KeyedSemaphore, newUuid } from '#platform/kernel';
import { HELLO_HEADER } from '#execution/worker-protocol';
import { HandleFrame } from '../application/handle-frame.js';
import { WorkerSession } from '../application/worker-session.js';
import { PresenceStore } from '../persistence/presence.store.js';
import { Connections } from './connections.js';
import { FrameDoor, nameOf } from './frame-door.js';
import type { Admitted } from './worker-admission.js';
import { WorkerConnection } from './worker-connection.js';
import { WorkerMeters } from './worker-meters.js';

/** Frames of all connections that are handled at once: each needs a connection to the database. */
const MAX_FRAMES = 16;
/** With which a worker closes its connection because its process ends; one that only connects again does not close it. */
const NORMAL_CLOSURE = 1000;

/** Takes in connections that were let in, and sees them off. */
@Injectable()
export class WorkerReception {
  private readonly logger = new Logger('Workers');
  private readonly semaphore = new KeyedSemaphore({ total: MAX_FRAMES });
  /** This process, in the rows of its connections. */
  private readonly instance = newUuid();
  /** Connections, open or not, of which something may still be to do. */
  private readonly unsettled = new Set<WorkerConnection>();

  constructor(
    private readonly frames: FrameDoor,
    private readonly handleFrame: HandleFrame,
    private readonly presence: PresenceStore,
    private readonly connections: Connections,
    private readonly meters: WorkerMeters,
    private readonly clock: Clock,
  ) {}

  welcome(socket: WebSocket, admitted: Admitted, { request, traceId }: Upgrade): void {
    const { teamUid, workerHost, accountUid, tokenUid } = admitted;
    const session = new WorkerSession({
      ref: { connectionId: newUuid(), teamUid, workerHost, accountUid, speaksHello: false },
      instance: this.instance,
      connectedAt: this.clock.now(),
      now: performance.now(),
      awaitsHello: request.headers[HELLO_HEADER] === '1',
    });
    const failed = (what: string, error: unknown): void => this.failed(session, what, error);
    const connection = new WorkerConnection(socket, session, tokenUid, this.meters, this.semaphore, failed);
    this.connections.add(connection);
    this.unsettled.add(connection);
    socket.on('error', (error) => this.logger.debug('A worker’s connection broke.', { error: error.message }));
    socket.once('close', (code) => void this.farewell(connection, code));
    this.frames.listen(socket, connection);
    this.logger.log('worker connected', { ...nameOf(session.ref), trace_id: traceId });
    if (session.mayBeAnnounced) this.announce(connection);
  }

  /** Tells everybody, after what the worker has said until now. */
  announce(connection: WorkerConnection): void {
    connection.inbox.push('connect', () => this.handleFrame.announce(connection));
  }

  /** Resolves when all that workers have said has been handled. */
  async settled(): Promise<void> {
    await Promise.all([...this.unsettled].map(({ inbox }) => inbox.idle()));
  }

  /** No connection of this process is there any more. */
  async forgetAll(): Promise<void> {
    await this.presence.removeInstance(this.instance).catch((error: Error) => {
      this.logger.warn('Connections of this process stay listed until they count no more.', { error: error.message });
    });
  }

  private async farewell(connection: WorkerConnection, code: number): Promise<void> {
    const { session } = connection;
    connection.destroy();
    this.connections.remove(connection);
    this.logger.log('worker disconnected', { ...nameOf(session.ref), code });
    // Before the row is gone: then the next connection would adopt what this one holds.
    if (code === NORMAL_CLOSURE) await this.attempt(session, 'leaving', () => this.handleFrame.leaving(session));
    await this.attempt(session, 'disconnect', () => this.handleFrame.forget(session));
    await connection.inbox.idle();
    if (code === NORMAL_CLOSURE) await this.attempt(session, 'left', () => this.handleFrame.left(session));
    this.unsettled.delete(connection);
  }

  /** What fails here is made up for by a timeout: of the connection, of a lease or of an offer. */
  private async attempt({ ref }: WorkerSession, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.logger.warn('The end of a connection was not noted.', { step: what, ...nameOf(ref), error: reason });
    }
  }

  private failed({ ref }: WorkerSession, what: string, error: unknown): void {
    const stack = error instanceof Error ? error.stack : String(error);
    this.logger.error('What a worker said was not carried out.', { type: what, ...nameOf(ref), stack });
  }
}
