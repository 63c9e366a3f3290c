import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { Queryable } from '#platform/persistence';
import type { RunEvent } from '#execution/runner-protocol';
import { RunLogStore } from '#execution/executions';
import { RunAccess, type RunLookup } from './run-access.js';

/** What other rooms may ask of a run's log; an abstract class so that it is the injection token too. */
export abstract class RunLog {
  /** The run through the caller's permission to read it. */
  abstract findRun(caller: Caller, runId: string): Promise<RunLookup>;
  /** Events after `afterSeq` in order, at most `limit`. The caller's right has been checked. */
  abstract read(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]>;
  /**
   * For who stores something that was made from a log: whether the log is there from its first event, and stays until `tx`
   * ends. False once retention has taken the log or the run, or is about to. `tx` reads what is committed (the default
   * isolation); the lock stops nothing but deletion. Never waits.
   */
  abstract holdWhole(tx: Queryable, runId: string): Promise<boolean>;
}

@Injectable()
export class StoredRunLog extends RunLog {
  constructor(
    private readonly access: RunAccess,
    private readonly store: RunLogStore,
  ) {
    super();
  }

  override findRun(caller: Caller, runId: string): Promise<RunLookup> {
    return this.access.find(caller, runId, 'runs:read');
  }

  override read(runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    return this.store.read(runId, afterSeq, limit);
  }

  override holdWhole(tx: Queryable, runId: string): Promise<boolean> {
    return this.store.holdWhole(tx, runId);
  }
}
