import { Injectable } from '@nestjs/common';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerMetrics } from './worker-metrics.js';

/** Every connection that this process holds, from the upgrade to the close. */
@Injectable()
export class Connections {
  private readonly open = new Map<string, WorkerConnection>();
  private readonly perTeam = new Map<string, number>();
  private whenNone: (() => void)[] = [];

  constructor(private readonly metrics: WorkerMetrics) {}

  get count(): number {
    return this.open.size;
  }

  of(teamUid: string): number {
    return this.perTeam.get(teamUid) ?? 0;
  }

  all(): WorkerConnection[] {
    return [...this.open.values()];
  }

  find(id: string): WorkerConnection | undefined {
    return this.open.get(id);
  }

  add(connection: WorkerConnection): void {
    const { connectionId, teamUid } = connection.ref;
    this.open.set(connectionId, connection);
    this.perTeam.set(teamUid, this.of(teamUid) + 1);
    this.metrics.open(this.count);
  }

  remove({ ref: { connectionId, teamUid } }: WorkerConnection): void {
    if (!this.open.delete(connectionId)) return;
    const left = this.of(teamUid) - 1;
    if (left > 0) this.perTeam.set(teamUid, left);
    else this.perTeam.delete(teamUid);
    this.metrics.open(this.count);
    if (this.count > 0) return;
    for (const resolve of this.whenNone) resolve();
    this.whenNone = [];
  }

  /** Resolves once there is none. */
  async none(): Promise<void> {
    if (this.count > 0) await new Promise<void>((resolve) => this.whenNone.push(resolve));
  }
}
