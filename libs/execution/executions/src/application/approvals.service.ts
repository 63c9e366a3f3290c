import { Injectable } from '@nestjs/common';
import type { RejectionOf } from '#platform/kernel';
import { Database, type Queryable, type Transaction } from '#platform/persistence';
import {
  type Approval,
  type ApprovalDecision,
  answerOf,
  type ChannelDecider,
  type Decider,
  decidedEvent,
  type GivenDecision,
  isChannel,
  issuesOf,
  readRequest,
} from '../domain/approval.js';
import type { PrincipalRef } from '../domain/run.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { type EventContext, textOf } from './event-context.js';

export type DecideResult =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | RejectionOf<'not_found' | 'invalid'>
  | { readonly kind: 'too_late'; readonly approval: Approval };

const WITHDRAWN: ApprovalDecision = { state: 'denied', via: 'cancel', by: null, note: null };
const EXPIRED: ApprovalDecision = { state: 'denied', via: 'timeout', by: null, note: 'Nobody answered in time.' };
const BY_RULE: ApprovalDecision = { state: 'allowed', via: 'rule', by: null, note: null };

export const withdrawnEvents = (approvals: readonly Approval[]): ReturnType<typeof decidedEvent>[] =>
  approvals.map((approval) => decidedEvent(approval, WITHDRAWN));

/** A request blocks its run until it is answered; in a debug window it only waits. */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly database: Database,
    private readonly approvals: ApprovalsStore,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
  ) {}

  list(runId: string): Promise<Approval[]> {
    return this.approvals.list(runId);
  }

  listRules(runId: string): Promise<Approval[]> {
    return this.approvals.rules(runId);
  }

  async request(context: EventContext, data: Record<string, unknown>): Promise<void> {
    const { tx, run, execution, isDebug, log } = context;
    const request = readRequest(data);
    if (!request?.ask) return;
    const isNewlyBlocked = !isDebug && (await this.transitions.apply(tx, run.id, 'block'));
    // A request that arrives after the cancel is not shown to anybody; the runner withdraws it with the turn.
    if (!isDebug && !isNewlyBlocked && (await this.transitions.lock(tx, run.id))?.state !== 'BLOCKED') return;
    // The request may have been sent before the answer `allow_always` to an equal one reached the runner.
    const { subject } = request;
    const ruleId = subject === null ? null : await this.approvals.ruleFor(tx, run.id, subject);
    const approval = await this.approvals.request(tx, run.id, execution.id, request, ruleId);
    if (approval?.state === 'pending') {
      const { kind, title, expires_at: expires } = approval;
      const blockedBy = {
        approval_id: approval.id,
        ...(kind === 'question' && { kind }),
        title,
        expires_at: expires.toISOString(),
      };
      if (!isDebug) log.push({ kind: 'run_blocked', data: blockedBy });
      return;
    }
    if (approval) {
      await this.executions.command(tx, execution.id);
      log.push(decidedEvent(approval, BY_RULE));
    }
    if (isNewlyBlocked) await this.transitions.apply(tx, run.id, 'unblock');
  }

  /** The runner reports a decision by policy or by rule, or the withdrawal of a request with its cancelled turn. */
  async recordRunnerDecision({ tx, run, isDebug }: EventContext, data: Record<string, unknown>): Promise<void> {
    const state = data['decision'] === 'allow' ? 'allowed' : 'denied';
    await this.approvals.decide(tx, run.id, textOf(data, 'approval_id'), { ...WITHDRAWN, state });
    if (!isDebug && !(await this.approvals.hasPending(tx, run.id))) await this.transitions.apply(tx, run.id, 'unblock');
  }

  async withdraw({ tx, run, execution, log }: EventContext): Promise<void> {
    log.push(...withdrawnEvents(await this.approvals.dropPending(tx, run.id, execution.id)));
  }

  async find(runId: string, approvalId: string): Promise<Approval | null> {
    return this.approvals.find(this.database, runId, approvalId);
  }

  /** A person answers. The caller's permission on the run has been checked. */
  async decide(runId: string, approvalId: string, given: GivenDecision, by: PrincipalRef): Promise<DecideResult> {
    return this.database.transaction((tx) => this.decideIn(tx, runId, approvalId, given, by));
  }

  /**
   * A signed decision in a message. `isOpen` says whether the channel may still decide, after the lock of the run: what closes
   * the channel must not be overtaken by a decision that waits for the lock.
   */
  async decideFromChannel(
    runId: string,
    approvalId: string,
    given: GivenDecision,
    by: ChannelDecider,
    isOpen: (tx: Queryable) => Promise<boolean>,
  ): Promise<DecideResult | { readonly kind: 'closed' }> {
    return this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      if (!(await isOpen(tx))) return { kind: 'closed' };
      return this.decideIn(tx, runId, approvalId, given, by);
    });
  }

  async expire(runId: string, approvalId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      const approval = await this.approvals.find(tx, runId, approvalId);
      if (approval) await this.apply(tx, approval, EXPIRED);
    });
  }

  private async decideIn(
    tx: Transaction,
    runId: string,
    approvalId: string,
    given: GivenDecision,
    by: Decider,
  ): Promise<DecideResult> {
    const run = await this.transitions.lock(tx, runId);
    const approval = await this.approvals.find(tx, runId, approvalId);
    if (!approval) return { kind: 'not_found' };
    // Requests of a cancelled run stay pending until its runner has stopped; a person's answer comes too late then.
    const isInTime =
      approval.state === 'pending' &&
      (run?.state === 'BLOCKED' || (run?.state === 'FAILED' && (await this.isDebugged(tx, runId))));
    if (!isInTime) return { kind: 'too_late', approval };
    const issues = issuesOf(approval, given);
    if (issues.length > 0) return { kind: 'invalid', issues };
    const { decision, note } = given;
    return this.apply(tx, approval, {
      state: decision === 'answer' ? 'answered' : decision === 'deny' ? 'denied' : 'allowed',
      ...(decision === 'answer' && { answer: answerOf(approval, given) }),
      always: decision === 'allow_always',
      via: isChannel(by) ? 'channel' : 'user',
      by,
      note,
    });
  }

  /** The caller holds the lock of the run. */
  private async apply(
    tx: Transaction,
    before: Approval,
    decision: ApprovalDecision,
  ): Promise<Exclude<DecideResult, RejectionOf<'not_found' | 'invalid'>>> {
    const { run_id: runId, id, execution_id: executionId } = before;
    const approval = await this.approvals.decide(tx, runId, id, decision);
    if (!approval) return { kind: 'too_late', approval: before };
    const same = approval.always ? await this.approvals.allowSame(tx, approval) : [];
    await this.executions.command(tx, executionId);
    if (!(await this.approvals.hasPending(tx, runId))) await this.transitions.apply(tx, runId, 'unblock');
    await this.log.append(tx, runId, executionId, [
      decidedEvent(approval, decision),
      ...same.map((other) => decidedEvent(other, BY_RULE)),
    ]);
    return { kind: 'decided', approval };
  }

  /** The agent of a debug window asks without blocking its run, which has failed. */
  private async isDebugged(tx: Queryable, runId: string): Promise<boolean> {
    const execution = await this.executions.lockLive(tx, runId);
    return execution?.phase === 'debug' && execution.desired === 'run';
  }
}
