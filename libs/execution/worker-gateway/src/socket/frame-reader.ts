import { performance } from 'node:perf_hooks';
import { Injectable, Logger } from '@nestjs/common';
import type { RawData, WebSocket } from 'ws';
import { toStorableJson } from '#platform/kernel';
import { parseWorkerFrame, type WorkerFrame } from '#execution/worker-protocol';
import { HandleFrame } from '../application/handle-frame.js';
import { FrameAllowance } from '../domain/frame-allowance.js';
import type { WorkerRef } from '../domain/worker.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerMetrics } from './worker-metrics.js';

/** Invalid frames of one connection that are logged; a worker of another version would fill the log. */
const MAX_LOGGED = 10;

type Note = (message: string, fields: object) => void;

@Injectable()
export class FrameReader {
  private readonly logger = new Logger('Workers');

  constructor(
    private readonly handleFrame: HandleFrame,
    private readonly metrics: WorkerMetrics,
  ) {}

  listen(socket: WebSocket, connection: WorkerConnection): void {
    const allowance = new FrameAllowance(performance.now());
    let logged = 0;
    const note: Note = (message, fields) => {
      logged += 1;
      if (logged <= MAX_LOGGED) this.logger.warn(message, { ...fields, ...nameOf(connection.ref) });
    };
    const isAllowed = (): boolean => {
      if (!connection.isOpen) return false;
      const now = performance.now();
      connection.session.seenAt = now;
      const allowed = allowance.take(now);
      if (!allowed) connection.drop('too_many_frames');
      return allowed;
    };
    socket.on('ping', isAllowed);
    socket.on('pong', isAllowed);
    socket.on('message', (data: RawData, isBinary: boolean) => {
      if (isAllowed()) this.read(connection, isBinary ? null : toText(data), note);
    });
  }

  private read(connection: WorkerConnection, text: string | null, note: Note): void {
    const parsed =
      text === null ? ({ kind: 'malformed', detail: 'The frame is binary.' } as const) : parseWorkerFrame(text);
    this.metrics.frames.inc({ direction: 'in', type: parsed.kind === 'frame' ? parsed.frame.type : parsed.kind });
    switch (parsed.kind) {
      case 'malformed':
        note('A frame of a worker is malformed.', { detail: parsed.detail });
        connection.drop('malformed');
        return;
      case 'unknown':
        note('A frame of a worker has an unknown type.', { type: parsed.type });
        return;
      case 'invalid':
        note('A frame of a worker is invalid.', { type: parsed.type, detail: parsed.detail });
        return;
      case 'frame':
        if (parsed.frame.type !== 'heartbeat') this.enqueue(connection, parsed.frame);
    }
  }

  private enqueue(connection: WorkerConnection, frame: WorkerFrame): void {
    // Frames can contain text that PostgreSQL cannot store.
    const storable = toStorableJson(frame).value as WorkerFrame;
    const receivedAt = performance.now();
    connection.inbox.push(frame.type, () => this.handleFrame.execute(connection, storable, receivedAt));
  }
}

export function nameOf({ connectionId, teamUid, workerHost }: WorkerRef): object {
  return { worker_host: workerHost, team_uid: teamUid, connection_id: connectionId };
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}
