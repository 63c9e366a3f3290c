import { performance } from 'node:perf_hooks';
import { Injectable, Logger } from '@nestjs/common';
import type { RawData, WebSocket } from 'ws';
import { toStorableJson } from '#platform/kernel';
import { parseWorkerFrame, type WorkerFrame } from '#execution/worker-protocol';
import { HandleFrame } from '../application/handle-frame.js';
import { FrameAllowance } from '../domain/frame-allowance.js';
import type { WorkerRef } from '../domain/worker-ref.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerMeters } from './worker-meters.js';

/** What is not understood is logged so often in a connection's life; a worker of another version would fill the log. */
const LOGGED_AT_MOST = 10;

type Note = (message: string, fields: object) => void;

/** Takes what comes in on the sockets. */
@Injectable()
export class FrameDoor {
  private readonly logger = new Logger('Workers');

  constructor(
    private readonly handleFrame: HandleFrame,
    private readonly meters: WorkerMeters,
  ) {}

  /** Listens to the socket until it closes. */
  listen(socket: WebSocket, connection: WorkerConnection): void {
    const allowance = new FrameAllowance(performance.now());
    let logged = 0;
    const note: Note = (message, fields) => {
      logged += 1;
      if (logged <= LOGGED_AT_MOST) this.logger.warn(message, { ...fields, ...nameOf(connection.ref) });
    };
    const admit = (): boolean => {
      if (!connection.isOpen) return false;
      const now = performance.now();
      connection.session.seenAt = now;
      const allowed = allowance.take(now);
      if (!allowed) connection.drop('too_many_frames');
      return allowed;
    };
    socket.on('ping', admit);
    socket.on('pong', admit);
    socket.on('message', (data: RawData, isBinary: boolean) => {
      if (admit()) this.take(connection, isBinary ? null : toText(data), note);
    });
  }

  private take(connection: WorkerConnection, text: string | null, note: Note): void {
    const parsed =
      text === null ? ({ kind: 'malformed', detail: 'The frame is binary.' } as const) : parseWorkerFrame(text);
    this.meters.frame('in', parsed.kind === 'frame' ? parsed.frame.type : parsed.kind);
    switch (parsed.kind) {
      case 'malformed':
        note('A worker’s frame is no frame.', { detail: parsed.detail });
        connection.drop('malformed');
        return;
      case 'unknown':
        note('A worker’s frame has a type that is not known.', { type: parsed.type });
        return;
      case 'invalid':
        note('A worker’s frame is not what its type asks for.', { type: parsed.type, detail: parsed.detail });
        return;
      case 'frame':
        if (parsed.frame.type !== 'heartbeat') this.pass(connection, parsed.frame);
    }
  }

  private pass(connection: WorkerConnection, frame: WorkerFrame): void {
    // Whatever can be sent can be stored.
    const storable = toStorableJson(frame).value as WorkerFrame;
    const receivedAt = performance.now();
    connection.inbox.push(frame.type, () => this.handleFrame.execute(connection, storable, receivedAt));
  }
}

/** For the log. */
export function nameOf({ connectionId, teamUid, workerHost }: WorkerRef): object {
  return { worker_host: workerHost, team_uid: teamUid, connection_id: connectionId };
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}
