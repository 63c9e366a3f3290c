import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Queryable, statement } from '#platform/persistence';
import type { PermissionSubject } from '#execution/runner-protocol';
import { type Approval, type ApprovalDecision, isChannel, type ReadRequest } from '../domain/approval.js';

const MAX_RULES = 1_000;
/** Inputs beyond it are left out of the list of a run: of the oldest requests, those that wait last. */
const MAX_LISTED_INPUT_BYTES = 8 * 1024 * 1024;
const MAX_RULE_INPUT_BYTES = 4096;

/** The columns of an approval, for a list that does not show all inputs. `isShown`: a condition in SQL. */
export const approvalColumns = (table: string, isShown: string): string =>
  `${[
    ...['id', 'run_id', 'execution_id', 'tool_call_id', 'title', 'options', 'subject', 'state', 'always', 'rule_id'],
    ...['kind', 'allow_text', 'answer'],
    ...['decided_via', 'decided_by_type', 'decided_by_uid', 'decided_by_name', 'note'],
    ...['requested_at', 'expires_at', 'decided_at'],
  ]
    .map((column) => `${table}.${column}`)
    .join(', ')}, CASE WHEN ${table}.input IS NULL OR ${isShown} THEN ${table}.input
    ELSE jsonb_build_object('truncated', true, 'size_bytes', ${table}.input_bytes) END AS input`;

/** `$9`: the rule that allows it at once, or null: it waits, for as long as the run's configuration or the setting says. */
const INSERT = statement('approvals.insert')`
  INSERT INTO approvals (run_id, id, execution_id, tool_call_id, title, input, options, requested_at, expires_at,
    rule_id, subject, state, decided_via, decided_at, kind, allow_text)
  SELECT r.id, $2, $3, $4, $5, $6::jsonb, $7::jsonb, headrace.now(),
    headrace.now() + coalesce((r.config->>'approval_timeout_minutes')::numeric * 60000, $8::numeric)::float8 * interval '1 millisecond',
    $9::text, $10::jsonb, CASE WHEN $9::text IS NULL THEN 'pending' ELSE 'allowed' END,
    CASE WHEN $9::text IS NOT NULL THEN 'rule' END, CASE WHEN $9::text IS NOT NULL THEN headrace.now() END, $11, $12
   FROM runs r WHERE r.id = $1
  ON CONFLICT (run_id, id) DO NOTHING RETURNING *`;
const LIST = statement('approvals.list')`
  SELECT ${approvalColumns('a', `a.shown_bytes <= ${MAX_LISTED_INPUT_BYTES}`)}
    FROM (SELECT *, sum(input_bytes) OVER (ORDER BY (state = 'pending') DESC, requested_at DESC, id) AS shown_bytes
            FROM approvals WHERE run_id = $1 ORDER BY (state = 'pending') DESC, requested_at DESC, id LIMIT 500) a
   ORDER BY a.requested_at, a.id`;
const FIND = statement('approvals.find')`SELECT * FROM approvals WHERE run_id = $1 AND id = $2`;
const DECIDE = statement('approvals.decide')`
  UPDATE approvals SET state = $3, decided_via = $4, decided_by_type = $5, decided_by_uid = $6, note = $7, always = $8, answer = $9::jsonb,
    decided_by_name = $10, decided_at = headrace.now()
  WHERE run_id = $1 AND id = $2 AND state = 'pending' RETURNING *`;
const ALLOW_SAME = statement('approvals.allow-same')`
  UPDATE approvals SET state = 'allowed', decided_via = 'rule', rule_id = $2, decided_at = headrace.now()
  WHERE run_id = $1 AND state = 'pending' AND subject = $3::jsonb RETURNING *`;
const RULES = statement('approvals.rules')`
  SELECT ${approvalColumns('approvals', `input_bytes <= ${MAX_RULE_INPUT_BYTES}`)} FROM approvals WHERE run_id = $1 AND always ORDER BY decided_at, id LIMIT ${MAX_RULES}`;
const RULE_FOR = statement('approvals.rule-for')`
  SELECT id FROM approvals WHERE run_id = $1 AND always AND subject = $2::jsonb LIMIT 1`;
const DROP_PENDING = statement('approvals.drop-pending')`
  UPDATE approvals SET state = 'denied', decided_via = 'cancel', decided_at = headrace.now()
  WHERE execution_id = $1 AND run_id = $2 AND state = 'pending' RETURNING *`;
const HAS_PENDING = statement('approvals.has-pending')`
  SELECT id FROM approvals WHERE run_id = $1 AND state = 'pending' LIMIT 1`;

@Injectable()
export class ApprovalsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** Allowed at once where `ruleId` is given, else pending. Null when the run had a request of this id before. */
  async request(
    tx: Queryable,
    runId: string,
    executionId: string,
    request: ReadRequest,
    ruleId: string | null = null,
  ): Promise<Approval | null> {
    const [row] = await tx.query<Approval>(INSERT, [
      runId,
      request.approval_id,
      executionId,
      request.tool_call_id ?? null,
      request.title,
      request.input === undefined ? null : JSON.stringify(request.input),
      JSON.stringify(request.options),
      this.settings.approvalTimeout,
      ruleId,
      request.subject === null ? null : JSON.stringify(request.subject),
      request.kind,
      request.allow_text,
    ]);
    return row ?? null;
  }

  async list(runId: string): Promise<Approval[]> {
    return this.database.query<Approval>(LIST, [runId]);
  }

  async find(tx: Queryable, runId: string, approvalId: string): Promise<Approval | null> {
    const [row] = await tx.query<Approval>(FIND, [runId, approvalId]);
    return row ?? null;
  }

  /** The decided approval, or null when it was not pending any more. */
  async decide(tx: Queryable, runId: string, approvalId: string, decision: ApprovalDecision): Promise<Approval | null> {
    const { state, via, by, note, always, answer } = decision;
    const [row] = await tx.query<Approval>(DECIDE, [
      runId,
      approvalId,
      state,
      via,
      by?.type ?? null,
      by?.uid ?? null,
      note,
      always ?? false,
      answer === undefined ? null : JSON.stringify(answer),
      by && isChannel(by) ? by.name : null,
    ]);
    return row ?? null;
  }

  /** What else waits and is the same as the approval, which was given for always. */
  async allowSame(tx: Queryable, { run_id: runId, id, subject }: Approval): Promise<Approval[]> {
    return subject === null ? [] : tx.query<Approval>(ALLOW_SAME, [runId, id, JSON.stringify(subject)]);
  }

  /** The approvals of the run that were given for always, oldest first. */
  async rules(runId: string): Promise<Approval[]> {
    return this.database.query<Approval>(RULES, [runId]);
  }

  async ruleFor(tx: Queryable, runId: string, subject: PermissionSubject): Promise<string | null> {
    const [row] = await tx.query<{ id: string }>(RULE_FOR, [runId, JSON.stringify(subject)]);
    return row?.id ?? null;
  }

  /** What an execution still asked when its turn or itself ended; returns what nobody has answered. */
  async dropPending(tx: Queryable, runId: string, executionId: string): Promise<Approval[]> {
    return tx.query<Approval>(DROP_PENDING, [executionId, runId]);
  }

  async hasPending(tx: Queryable, runId: string): Promise<boolean> {
    return (await tx.query(HAS_PENDING, [runId])).length > 0;
  }
}
