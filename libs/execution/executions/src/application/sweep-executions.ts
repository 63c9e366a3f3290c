import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, isDatabaseUnavailable, statement } from '#platform/persistence';
import { ApprovalsService } from './approvals.service.js';
import { RunLimitEnforcer } from './run-limit-enforcer.js';
import { DisabledUsers } from './disabled-users.js';
import { FinishExecution, type LossOptions } from './finish-execution.js';
import { IdleSessions } from './idle-sessions.js';

/**
 * `$1`: milliseconds that self-hosted workers have to connect again after a time without any API process; until then nobody
 * could renew the leases of what they execute.
 */
const OVERDUE = statement('executions.overdue')`
  SELECT id, coalesce(fence_at <= headrace.now(), false) AS is_fenced, phase FROM executions
   WHERE ended_at IS NULL AND (fence_at <= headrace.now() OR lease_expires_at <= headrace.now()
     AND (worker_connection_id IS NULL OR phase = 'offered'
       OR headrace.workers_reachable_since() <= headrace.now() - $1::int * interval '1 millisecond'))
   ORDER BY lease_expires_at LIMIT 200`;

/** Ends executions whose lease has expired, so that no run hangs forever. Any number of processes may sweep at once. */
@Injectable()
export class SweepExecutions {
  private readonly logger = new Logger(SweepExecutions.name);

  constructor(
    private readonly database: Database,
    private readonly finish: FinishExecution,
    private readonly idleSessions: IdleSessions,
    private readonly approvals: ApprovalsService,
    private readonly limits: RunLimitEnforcer,
    private readonly disabledUsers: DisabledUsers,
    private readonly settings: Settings,
  ) {}

  /** Returns how many executions were given up. */
  async execute(): Promise<number> {
    let lost = 0;
    const { workerReconnectTimeout } = this.settings;
    for (const { id, is_fenced, phase } of await this.database.query<OverdueRow>(OVERDUE, [workerReconnectTimeout])) {
      const reason = is_fenced ? 'fenced' : phase === 'offered' ? 'claim_expired' : 'lease_expired';
      await this.each(`execution ${id}`, async () => {
        const isStillLost: LossOptions['isStillLost'] = ({ is_expired, is_fenced: isFenced }) => is_expired || isFenced;
        if (await this.finish.lose(id, reason, { isStillLost })) lost += 1;
      });
    }
    await this.each('idle sessions', () => this.idleSessions.closeOverdue());
    await this.each('debug windows', () => this.idleSessions.closeDebugWindows());
    await this.approvals.expireOverdue((what, work) => this.each(what, work));
    await this.limits.sweep((what, work) => this.each(what, work));
    await this.disabledUsers.sweep((what, work) => this.each(what, work));
    return lost;
  }

  /** One row that cannot be swept must not keep the others; a database that is away ends the round. */
  private async each(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error({
        msg: `The sweeper failed at ${what}.`,
        error: error instanceof Error ? error.stack : String(error),
      });
    }
  }
}

type OverdueRow = { id: string; is_fenced: boolean; phase: string };
