import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import { type Approval, type ApprovalDecision, type ApprovalDecisionWord, decidedEvent } from '../domain/approval.js';
import type { PrincipalRef } from '../domain/run.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunMoves } from '../persistence/run-moves.js';

export type DecideResult =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'too_late'; readonly approval: Approval };

/** A person, or the clock, answers a permission request; the runner is told, and the run goes on. */
@Injectable()
export class DecideApproval {
  constructor(
    private readonly database: Database,
    private readonly approvals: ApprovalsStore,
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly log: RunLogStore,
  ) {}

  /** The caller's right to the run has been checked. */
  async execute(
    runId: string,
    approvalId: string,
    decision: ApprovalDecisionWord,
    note: string | null,
    by: PrincipalRef,
  ): Promise<DecideResult> {
    return this.decide(runId, approvalId, {
      state: decision === 'deny' ? 'denied' : 'allowed',
      always: decision === 'allow_always',
      via: 'user',
      by,
      note,
    });
  }

  /** Nobody answered in time: denied. */
  async expire(runId: string, approvalId: string): Promise<void> {
    await this.decide(runId, approvalId, {
      state: 'denied',
      via: 'timeout',
      by: null,
      note: 'Nobody answered in time.',
    });
  }

  private async decide(runId: string, approvalId: string, decision: ApprovalDecision): Promise<DecideResult> {
    return this.database.transaction(async (tx) => {
      const run = await this.moves.lock(tx, runId);
      // Of a run that was cancelled questions stay open until its runner has stopped; a person's word comes too late.
      const isHeard =
        decision.via !== 'user' ||
        run?.state === 'BLOCKED' ||
        (run?.state === 'FAILED' && (await this.isDebugged(tx, runId)));
      const approval = isHeard ? await this.approvals.decide(tx, runId, approvalId, decision) : null;
      if (!approval) {
        const known = await this.approvals.find(tx, runId, approvalId);
        return known ? { kind: 'too_late', approval: known } : { kind: 'unknown' };
      }
      const same = approval.always ? await this.approvals.allowSame(tx, approval) : [];
      await this.executions.command(tx, approval.execution_id);
      if (!(await this.approvals.hasPending(tx, runId))) await this.moves.move(tx, runId, 'unblock');
      await this.log.append(tx, runId, approval.execution_id, [
        decidedEvent(approval, decision),
        ...same.map((other) => decidedEvent(other, BY_RULE)),
      ]);
      return { kind: 'decided', approval };
    });
  }

  /** A debug agent asks without blocking its run. */
  private async isDebugged(tx: Queryable, runId: string): Promise<boolean> {
    const execution = await this.executions.lockLive(tx, runId);
    return execution?.phase === 'debug' && execution.desired === 'run';
  }
}

const BY_RULE: ApprovalDecision = { state: 'allowed', via: 'rule', by: null, note: null };
