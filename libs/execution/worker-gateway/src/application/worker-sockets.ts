import { Injectable } from '@nestjs/common';
import type { ServerFrame } from '#execution/worker-protocol';
import type { WorkerRef } from '../domain/worker.js';

/** An open socket as far as others may use it. */
export interface OpenSocket {
  readonly ref: WorkerRef;
  /** False when it is closing, or too much is waiting to be read by the other end. */
  send(frame: ServerFrame): boolean;
}

/** The connections that this process holds. Those of other processes are in the database only. */
@Injectable()
export class WorkerSockets {
  private readonly open = new Map<string, OpenSocket>();

  local(): readonly WorkerRef[] {
    return [...this.open.values()].map(({ ref }) => ref);
  }

  find(connectionId: string): WorkerRef | undefined {
    return this.open.get(connectionId)?.ref;
  }

  /** False: the connection is not here, or not open; nothing was sent. True says nothing about its arrival. */
  send(connectionId: string, frame: ServerFrame): boolean {
    return this.open.get(connectionId)?.send(frame) ?? false;
  }

  /** For this library: the socket can be used from now on. */
  add(socket: OpenSocket): void {
    this.open.set(socket.ref.connectionId, socket);
  }

  /** For this library: removes a closed socket. */
  remove(connectionId: string): void {
    this.open.delete(connectionId);
  }
}
