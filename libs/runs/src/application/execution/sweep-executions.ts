import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#libs/persistence';
import { ApprovalsStore } from '../../persistence/approvals.store.js';
import { DecideApproval } from '../decide-approval.js';
import { FinishExecution } from './finish-execution.js';
import { IdleSessions } from './idle-sessions.js';

const OVERDUE: Statement = {
  name: 'executions.overdue',
  text: `SELECT id, coalesce(fence_at <= headrace.now(), false) AS is_fenced, phase FROM executions
   WHERE ended_at IS NULL AND (lease_expires_at <= headrace.now() OR fence_at <= headrace.now()) ORDER BY lease_expires_at LIMIT 200`,
};

/** Ends what went silent, so that no run hangs for ever. Any number of processes may sweep at once. */
@Injectable()
export class SweepExecutions {
  constructor(
    private readonly database: Database,
    private readonly finish: FinishExecution,
    private readonly idleSessions: IdleSessions,
    private readonly approvals: ApprovalsStore,
    private readonly decide: DecideApproval,
  ) {}

  /** Returns how many executions were given up. */
  async execute(): Promise<number> {
    let lost = 0;
    for (const { id, is_fenced, phase } of await this.database.query<{ id: string; is_fenced: boolean; phase: string }>(
      OVERDUE,
    )) {
      const reason = is_fenced ? 'fenced' : phase === 'offered' ? 'claim_expired' : 'lease_expired';
      if (await this.finish.lose(id, reason, (execution) => execution.is_expired || execution.is_fenced)) lost += 1;
    }
    await this.idleSessions.closeOverdue();
    for (const overdue of await this.approvals.overdue()) await this.decide.expire(overdue.run_id, overdue.id);
    return lost;
  }
}
