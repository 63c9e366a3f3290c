import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import type { RunEvent } from '#execution/runner-protocol';
import { RunTail } from '#execution/executions';
import { RunsService, type RunLookup } from './runs.service.js';

/** What other libraries read of the log of a run. */
@Injectable()
export class RunLog {
  constructor(
    private readonly runs: RunsService,
    private readonly tail: RunTail,
  ) {}

  /** The run, when the caller may read it. */
  findRun(caller: Caller, runId: string): Promise<RunLookup> {
    return this.runs.find(caller, runId, 'runs:read');
  }

  /** Events after `afterSeq` in order, at most `limit`. The caller's permission has been checked. */
  read(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.tail.read(runId, afterSeq, limit);
  }

  /**
   * Before data that was derived from a log is stored: whether the log is complete from its first event, and stays until `tx`
   * ends. False once retention has deleted the log or the run, or is about to. `tx` reads what is committed (the default
   * isolation); the lock stops nothing but deletion. Never waits.
   */
  holdWhole(tx: Queryable, runId: string): Promise<boolean> {
    return this.tail.holdWhole(tx, runId);
  }
}
