import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { hasLargeJsonBody, readJsonBody, ResponseLimit } from '#platform/http';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { leaseLost } from './lease-lost.js';

/** Requests of runners that need much memory. Anybody who can register an external run can send them. */
@Injectable()
export class RunnerTransfers {
  private readonly limit = new ResponseLimit('large requests of runners', {
    total: 32,
    perKey: 8,
    maxWaitMs: 30_000,
    maxSendMs: 600_000,
  });

  constructor(private readonly executions: ExecutionsStore) {}

  /** Does the work with a permit of the owner of the run. Rejects when the execution has ended, or when none is free in time. */
  async run<T>(executionId: string, response: Response, work: () => Promise<T>): Promise<T> {
    const owner = await this.executions.findOwnerKey(executionId);
    if (owner === null) throw leaseLost();
    return this.limit.run(owner, response, work);
  }

  async readJson(executionId: string, request: Request, response: Response): Promise<void> {
    const read = (): Promise<void> => readJsonBody(request, response);
    await (hasLargeJsonBody(request) ? this.run(executionId, response, read) : read());
  }
}
