import { Injectable } from '@nestjs/common';
import type { ServerFrame } from '#execution/worker-protocol';
import type { WorkerRef } from '../domain/worker.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerMetrics } from './worker-metrics.js';

/** Of this process only. Other libraries see only connections to which runs may be offered. */
@Injectable()
export class WorkerSockets {
  private readonly open = new Map<string, WorkerConnection>();
  private readonly perTeam = new Map<string, number>();

  constructor(private readonly metrics: WorkerMetrics) {}

  local(): readonly WorkerRef[] {
    return this.all()
      .filter(({ session }) => session.isUsable)
      .map(({ ref }) => ref);
  }

  find(connectionId: string): WorkerRef | undefined {
    return this.usable(connectionId)?.ref;
  }

  /**
   * False: the connection is not here, is closing, or its worker reads too slowly; nothing was sent. True does not mean that
   * the frame arrives.
   */
  send(connectionId: string, frame: ServerFrame): boolean {
    return this.usable(connectionId)?.send(frame) ?? false;
  }

  get count(): number {
    return this.open.size;
  }

  countOf(teamUid: string): number {
    return this.perTeam.get(teamUid) ?? 0;
  }

  all(): WorkerConnection[] {
    return [...this.open.values()];
  }

  connection(id: string): WorkerConnection | undefined {
    return this.open.get(id);
  }

  add(connection: WorkerConnection): void {
    const { connectionId, teamUid } = connection.ref;
    this.open.set(connectionId, connection);
    this.perTeam.set(teamUid, this.countOf(teamUid) + 1);
    this.metrics.connections.set(this.count);
  }

  remove({ ref: { connectionId, teamUid } }: WorkerConnection): void {
    if (!this.open.delete(connectionId)) return;
    const left = this.countOf(teamUid) - 1;
    if (left > 0) this.perTeam.set(teamUid, left);
    else this.perTeam.delete(teamUid);
    this.metrics.connections.set(this.count);
  }

  private usable(id: string): WorkerConnection | undefined {
    const connection = this.open.get(id);
    return connection?.session.isUsable ? connection : undefined;
  }
}
