import { Injectable } from '@nestjs/common';
import { type Approval, type ApprovalDecision, decidedEvent, readRequest } from '../domain/approval.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunMoves } from '../persistence/run-moves.js';
import { type EventContext, textOf } from './event-context.js';

const WITHDRAWN: ApprovalDecision = { state: 'denied', via: 'cancel', by: null, note: null };
const BY_RULE: ApprovalDecision = { state: 'allowed', via: 'rule', by: null, note: null };

/** What the log says of requests that nobody has answered when their turn or execution ended. */
export const withdrawnEvents = (approvals: readonly Approval[]): ReturnType<typeof decidedEvent>[] =>
  approvals.map((approval) => decidedEvent(approval, WITHDRAWN));

/** What an agent's permission requests do: a question blocks the run until it is answered, in a debug window it just waits. */
@Injectable()
export class PermissionEffects {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly approvals: ApprovalsStore,
  ) {}

  async requested(context: EventContext, data: Record<string, unknown>): Promise<void> {
    const { tx, run, execution, isDebug, log } = context;
    const request = readRequest(data);
    if (!request?.ask) return;
    const isNewlyBlocked = !isDebug && (await this.moves.move(tx, run.id, 'block'));
    // A question that comes after the cancel waits for nobody; the runner withdraws it with the turn.
    if (!isDebug && !isNewlyBlocked && (await this.moves.lock(tx, run.id))?.state !== 'BLOCKED') return;
    // It may have been on its way when the same was allowed for always.
    const ruleId = await this.approvals.ruleFor(tx, run.id, request.subject);
    const approval = await this.approvals.request(tx, run.id, execution.id, request, ruleId);
    if (approval?.state === 'pending') {
      const { title, expires_at: expires } = approval;
      const told = { approval_id: approval.id, title, expires_at: expires.toISOString() };
      if (!isDebug) log.push({ kind: 'run_blocked', data: told });
      return;
    }
    if (approval) {
      await this.executions.command(tx, execution.id);
      log.push(decidedEvent(approval, BY_RULE));
    }
    if (isNewlyBlocked) await this.moves.move(tx, run.id, 'unblock');
  }

  /** A runner decides by policy or rule, or withdraws a question because the turn was cancelled. */
  async decided({ tx, run, isDebug }: EventContext, data: Record<string, unknown>): Promise<void> {
    const state = data['decision'] === 'allow' ? 'allowed' : 'denied';
    await this.approvals.decide(tx, run.id, textOf(data, 'approval_id'), { ...WITHDRAWN, state });
    if (!isDebug && !(await this.approvals.hasPending(tx, run.id))) await this.moves.move(tx, run.id, 'unblock');
  }

  /** The turn is over: nobody waits for an answer any more. */
  async withdraw({ tx, run, execution, log }: EventContext): Promise<void> {
    log.push(...withdrawnEvents(await this.approvals.dropPending(tx, run.id, execution.id)));
  }
}
