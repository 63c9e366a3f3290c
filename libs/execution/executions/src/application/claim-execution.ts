import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database } from '#platform/persistence';
import type { Assignment, ClaimRequest } from '#execution/runner-protocol';
import { leaseTimes } from '../domain/lease.js';
import { ExecutionsStore, isHeldForRunner } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { AssignmentSource } from './assignment-source.js';
import { FinishExecution } from './finish-execution.js';

/** A runner accepts its offer: the lease begins and the run is CLAIMED. Repeated by the same runner, the same answer. */
@Injectable()
export class ClaimExecution {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly assignments: AssignmentSource,
    private readonly finish: FinishExecution,
  ) {}

  async execute(executionId: string, request: ClaimRequest): Promise<Assignment | 'lease_lost'> {
    const claimed = await this.database.transaction(async (tx) => {
      const [run, execution] = await Promise.all([
        this.transitions.lockOf(tx, executionId),
        this.executions.lock(tx, executionId),
      ]);
      if (!run || !execution || execution.is_fenced) return null;
      const { id: runId } = run;
      if (execution.phase === 'claimed' && execution.instance_id === request.instance_id)
        return { runId, ...(await this.executions.leaseOf(tx, executionId)) };
      // A self-hosted worker has claimed it for this runner: the lease goes over, the run stays.
      const isHeld = isHeldForRunner(execution);
      if (!isHeld) {
        if (execution.phase !== 'offered' || execution.is_expired) return null;
        if (!(await this.transitions.apply(tx, runId, 'claim'))) return null;
      }
      const data = { execution_id: Number(executionId) };
      const [lease] = await Promise.all([
        this.executions.claim(tx, executionId, request.instance_id),
        this.log.append(tx, runId, executionId, isHeld ? [] : [{ kind: 'run_claimed', data }]),
      ]);
      return { runId, ...lease };
    });
    if (claimed === null) return 'lease_lost';
    const { runId, leaseEpoch, commandVersion } = claimed;
    const built = await this.assignments.build(runId, executionId, leaseEpoch);
    if (built.kind === 'unknown_run') return 'lease_lost';
    if (built.kind === 'impossible') {
      const { errorCode: error_code, message } = built;
      await this.finish.execute(executionId, { lease_epoch: leaseEpoch, outcome: 'failed', error_code, message });
      return 'lease_lost';
    }
    const retention = built.assignment.failure_session_retention_minutes;
    if (retention !== undefined) await this.executions.allowDebug(executionId, retention * 60_000);
    return {
      ...built.assignment,
      ...(commandVersion === null ? {} : { command_version: commandVersion }),
      ...leaseTimes(this.settings.leaseTtl),
    };
  }
}
