import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Database, type Queryable, type Statement } from '#libs/persistence';
import type { PermissionRequested } from '#libs/runner-protocol';
import type { PrincipalRef } from '../domain/run.js';

export interface Approval {
  readonly id: string;
  readonly run_id: string;
  readonly execution_id: string;
  readonly tool_call_id: string | null;
  readonly title: string;
  readonly input: unknown;
  readonly options: { option_id: string; name: string; kind: string }[];
  readonly state: 'pending' | 'allowed' | 'denied';
  readonly decided_via: 'user' | 'timeout' | 'cancel' | null;
  readonly decided_by_type: PrincipalRef['type'] | null;
  readonly decided_by_uid: string | null;
  readonly note: string | null;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
}

export interface ApprovalDecision {
  readonly state: 'allowed' | 'denied';
  readonly via: 'user' | 'timeout' | 'cancel';
  readonly by: PrincipalRef | null;
  readonly note: string | null;
}

const INSERT: Statement = {
  name: 'approvals.insert',
  text: `INSERT INTO approvals (run_id, id, execution_id, tool_call_id, title, input, options, state, requested_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, 'pending', headrace.now(), headrace.now() + $8 * interval '1 millisecond')
  ON CONFLICT (run_id, id) DO NOTHING`,
};
const LIST: Statement = {
  name: 'approvals.list',
  text: `SELECT * FROM (SELECT * FROM approvals WHERE run_id = $1 ORDER BY (state = 'pending') DESC, requested_at DESC LIMIT 500) a ORDER BY requested_at, id`,
};
const FIND: Statement = { name: 'approvals.find', text: `SELECT * FROM approvals WHERE run_id = $1 AND id = $2` };
const DECIDE: Statement = {
  name: 'approvals.decide',
  text: `UPDATE approvals SET state = $3, decided_via = $4, decided_by_type = $5, decided_by_uid = $6, note = $7, decided_at = headrace.now()
  WHERE run_id = $1 AND id = $2 AND state = 'pending' RETURNING *`,
};
const DROP_PENDING: Statement = {
  name: 'approvals.drop-pending',
  text: `UPDATE approvals SET state = 'denied', decided_via = 'cancel', decided_at = headrace.now() WHERE execution_id = $1 AND run_id = $2 AND state = 'pending'`,
};
const HAS_PENDING: Statement = {
  name: 'approvals.has-pending',
  text: `SELECT EXISTS (SELECT 1 FROM approvals WHERE run_id = $1 AND state = 'pending') AS pending`,
};
const OVERDUE: Statement = {
  name: 'approvals.overdue',
  text: `SELECT run_id, id FROM approvals WHERE state = 'pending' AND expires_at <= headrace.now() ORDER BY expires_at LIMIT 100`,
};

@Injectable()
export class ApprovalsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  async request(tx: Queryable, runId: string, executionId: string, request: PermissionRequested): Promise<void> {
    const input = request.input === undefined ? null : JSON.stringify(request.input);
    await tx.query(INSERT, [
      runId,
      request.approval_id,
      executionId,
      request.tool_call_id ?? null,
      request.title,
      input,
      JSON.stringify(request.options),
      this.settings.approvalTimeout,
    ]);
  }

  async list(runId: string): Promise<Approval[]> {
    return this.database.query<Approval & Record<string, unknown>>(LIST, [runId]);
  }

  async find(tx: Queryable, runId: string, approvalId: string): Promise<Approval | null> {
    const [row] = await tx.query<Approval & Record<string, unknown>>(FIND, [runId, approvalId]);
    return row ?? null;
  }

  /** The decided approval, or null when it was not pending any more. */
  async decide(tx: Queryable, runId: string, approvalId: string, decision: ApprovalDecision): Promise<Approval | null> {
    const { state, via, by, note } = decision;
    const [row] = await tx.query<Approval & Record<string, unknown>>(DECIDE, [
      runId,
      approvalId,
      state,
      via,
      by?.type ?? null,
      by?.uid ?? null,
      note,
    ]);
    return row ?? null;
  }

  /** What an execution still asked when its turn or itself ended. */
  async dropPending(tx: Queryable, runId: string, executionId: string): Promise<void> {
    await tx.query(DROP_PENDING, [executionId, runId]);
  }

  async hasPending(tx: Queryable, runId: string): Promise<boolean> {
    const [row] = await tx.query<{ pending: boolean }>(HAS_PENDING, [runId]);
    return row?.pending ?? false;
  }

  async overdue(): Promise<{ run_id: string; id: string }[]> {
    return this.database.query<{ run_id: string; id: string }>(OVERDUE);
  }
}
