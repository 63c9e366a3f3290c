import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { hasLargeJsonBody, LARGE_BODIES, MemoryPermits, readJsonBody, ResponseLimit } from '#platform/http';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { leaseLost } from './lease-lost.js';

/**
 * Requests of runners that need much memory, with permits of the owner of the run. Anybody who can register an external run can send
 * them.
 */
@Injectable()
export class RunnerTransfers {
  private readonly bodies = new MemoryPermits(LARGE_BODIES, {
    total: 32,
    perKey: 8,
    maxWaiting: 320,
    maxWaitMs: 20_000,
  });
  private readonly snapshots = new ResponseLimit('parts of snapshots', {
    total: 32,
    perKey: 8,
    maxWaitMs: 20_000,
    maxSendMs: 600_000,
  });

  constructor(private readonly executions: ExecutionsStore) {}

  /** Keeps the permit until the response has ended. Rejects when none is free in time. */
  async withSnapshot<T>(executionId: string, response: Response, work: () => Promise<T>): Promise<T> {
    return this.snapshots.run(await this.ownerOf(executionId), response, work);
  }

  /** Keeps the permit of a large body until it has been read: some responses wait for other runs. */
  async readJson(executionId: string, request: Request): Promise<void> {
    const read = (): Promise<void> => readJsonBody(request);
    await (hasLargeJsonBody(request) ? this.bodies.run(await this.ownerOf(executionId), read) : read());
  }

  async ownerOf(executionId: string): Promise<string> {
    const owner = await this.executions.findOwnerKey(executionId);
    if (owner === null) throw leaseLost();
    return owner;
  }
}
