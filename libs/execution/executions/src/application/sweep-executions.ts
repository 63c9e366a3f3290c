import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, isDatabaseUnavailable, type Statement, statement } from '#platform/persistence';
import { EXTERNAL_ACCOUNT, EXTERNAL_USER } from '../persistence/run-status-sql.js';
import { ApprovalsService } from './approvals.service.js';
import { FinishExecution } from './finish-execution.js';
import { IdleSessions } from './idle-sessions.js';
import { RunLimitEnforcer } from './run-limit-enforcer.js';
import { RunStopper } from './run-stopper.js';
import { TurnInterrupter } from './turn-interrupter.js';

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

const UNANSWERED = statement('approvals.overdue')`
  SELECT run_id, id FROM approvals WHERE state = 'pending' AND expires_at <= headrace.now() ORDER BY expires_at LIMIT 100`;

/** Runs that have reached their maximum run time. Time in which a run waits for a person does not count. */
const OUT_OF_TIME = statement('limits.due')`
  SELECT e.id, e.run_id FROM executions e JOIN runs r ON r.id = e.run_id
   WHERE e.ceiling_at <= headrace.now() AND e.ended_at IS NULL AND e.desired = 'run' AND r.state = 'INPROGRESS'
   ORDER BY e.ceiling_at LIMIT 200`;

const INTERRUPTS_IGNORED = statement('interrupts.overdue')`
  SELECT id, run_id FROM executions WHERE interrupt_expires_at <= headrace.now() AND ended_at IS NULL
   ORDER BY interrupt_expires_at LIMIT 100`;

/**
 * Of users and service accounts that are disabled, and of those who execute a run of a team in which they may not create runs any more. A
 * run that is being offered is left alone: it fails when it is claimed. Before the verification of the address, another person may have
 * been the user.
 */
const WITHOUT_RIGHTS = statement('executions.live-without-rights')`
  SELECT e.id, e.run_id FROM executions e
   JOIN runs r ON r.id = e.run_id
   LEFT JOIN users u ON u.uid = coalesce(r.owner_user_uid, ${EXTERNAL_USER})
   LEFT JOIN service_accounts s ON s.uid = ${EXTERNAL_ACCOUNT}
   WHERE e.ended_at IS NULL AND e.phase <> 'offered' AND e.desired NOT IN ('stop', 'kill')
     AND (u.disabled_at IS NOT NULL OR u.verified_at > e.offered_at OR s.disabled_at IS NOT NULL
       OR r.team_uid IS NOT NULL AND u.uid IS NOT NULL AND NOT EXISTS (
         SELECT FROM memberships m WHERE m.user_uid = u.uid AND m.team_uid = r.team_uid AND m.role <> 'viewer'))
   LIMIT 200`;

type Overdue = { id: string; is_fenced: boolean; phase: string };

/** Any number of processes may sweep at once. */
@Injectable()
export class SweepExecutions {
  private readonly logger = new Logger(SweepExecutions.name);

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly finish: FinishExecution,
    private readonly idleSessions: IdleSessions,
    private readonly approvals: ApprovalsService,
    private readonly limits: RunLimitEnforcer,
    private readonly stopper: RunStopper,
    private readonly interrupter: TurnInterrupter,
  ) {}

  async execute(): Promise<number> {
    let lost = 0;
    const { workerReconnectTimeout } = this.settings;
    for (const { id, is_fenced, phase } of await this.database.query<Overdue>(OVERDUE, [workerReconnectTimeout])) {
      const reason = is_fenced ? 'fenced' : phase === 'offered' ? 'claim_expired' : 'lease_expired';
      await this.each(`execution ${id}`, async () => {
        const isStillLost = (locked: { is_expired: boolean; is_fenced: boolean }) =>
          locked.is_expired || locked.is_fenced;
        if (await this.finish.lose(id, reason, { isStillLost })) lost += 1;
      });
    }
    await this.each('idle sessions', () => this.idleSessions.closeOverdue());
    await this.each('debug windows', () => this.idleSessions.closeDebugWindows());
    await this.eachOf(UNANSWERED, 'approval', (runId, id) => this.approvals.expire(runId, id));
    await this.eachOf(OUT_OF_TIME, 'the limits of execution', (runId, id) => this.limits.endIfDue(runId, id));
    await this.eachOf(INTERRUPTS_IGNORED, 'the interrupt of execution', (runId, id) =>
      this.interrupter.expireIfDue(runId, id),
    );
    await this.eachOf(WITHOUT_RIGHTS, 'the rights of execution', (runId, id) =>
      this.stopper.stopWithoutRights(runId, id),
    );
    if (lost > 0) this.logger.warn(`Ended ${lost} execution(s) whose runner was silent.`);
    return lost;
  }

  private async eachOf(due: Statement, what: string, end: (runId: string, id: string) => Promise<void>): Promise<void> {
    for (const { id, run_id: runId } of await this.database.query<{ id: string; run_id: string }>(due))
      await this.each(`${what} ${id}`, () => end(runId, id));
  }

  /** One row that cannot be swept must not keep the others; a database that is unavailable ends the sweep. */
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
