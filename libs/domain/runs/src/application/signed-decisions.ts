import { Injectable, Logger } from '@nestjs/common';
import { EnvironmentDirectory } from '#domain/environments';
import { type Approval, ApprovalsService, type ChannelDecider, type GivenDecision } from '#execution/executions';
import { type AuditEvent, AuditLog, type AuditSource } from '#platform/audit';
import { PrincipalDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { Clock, type Issue, isStorableText, isUuid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { type DecisionOutcome, outcomeOf } from '../domain/decision-outcome.js';
import {
  type DecisionChannelType,
  type DecisionChoice,
  DecisionTokens,
  type SignedDecision,
} from '../domain/decision-token.js';
import { isShown } from '../domain/shown-request.js';
import { MAX_ANSWER_LENGTH, type Run } from '../domain/run.js';
import { RunsStore } from '../persistence/runs.store.js';

export interface DecisionSubject {
  readonly run: Run;
  readonly approval: Approval;
}

/** Who presses a button, and what the channel says about it. */
export interface ChannelDecision {
  readonly decidedBy: ChannelDecider;
  /** The team of the channel: it decides about runs of this team only. */
  readonly teamUid: string;
  /** Of a choice `text`; line breaks are `\n`. */
  readonly text?: string;
  /** Whether tokens of this channel and revision are still accepted; in the transaction of the decision, with its row locked. */
  readonly isOpen: (tx: Queryable) => Promise<boolean>;
  readonly source: AuditSource;
}

/**
 * Why a request cannot be decided in this way from a channel. `environment`: that of the run is not one of the team. `input`: no
 * page shows all of what would be decided.
 */
export type ChannelObstacle = 'environment' | 'input';

export type SignedDecisionResult =
  | { readonly kind: 'decided'; readonly approval: Approval; readonly outcome: DecisionOutcome }
  | { readonly kind: 'already_decided'; readonly approval: Approval; readonly outcome: DecisionOutcome }
  | { readonly kind: 'expired' }
  /** The run has ended or was cancelled. */
  | { readonly kind: 'not_waiting' }
  | { readonly kind: 'not_allowed'; readonly reason: ChannelObstacle }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  /** The request does not exist any more, is of another team, or the tokens of the channel have been revoked. */
  | { readonly kind: 'not_valid' };

/**
 * Decisions by tokens in messages. The token is the permission: no user has authenticated. A channel is as powerful as a member
 * of the team who may use the environments of the team, and no others.
 */
@Injectable()
export class SignedDecisions {
  private readonly logger = new Logger(SignedDecisions.name);
  private readonly tokens: DecisionTokens;

  constructor(
    private readonly runs: RunsStore,
    private readonly approvals: ApprovalsService,
    private readonly environments: EnvironmentDirectory,
    private readonly principals: PrincipalDirectory,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    { secretsKey, secretsKeyPrevious }: Settings,
  ) {
    if (secretsKey === undefined) throw new Error('SECRETS_KEY is required: it signs decisions.');
    this.tokens = new DecisionTokens(secretsKey, secretsKeyPrevious);
  }

  sign(decision: SignedDecision): string {
    return this.tokens.sign(decision);
  }

  /** Null: forged, or of another kind of channel. */
  verify(token: string, channel: DecisionChannelType): SignedDecision | null {
    const decision = this.tokens.verify(token);
    return decision?.channel.type === channel ? decision : null;
  }

  /** What the token is about, or null: it was deleted, or belongs to another team than the channel. */
  async find(
    { runId, approvalId }: Pick<SignedDecision, 'runId' | 'approvalId'>,
    teamUid: string,
  ): Promise<DecisionSubject | null> {
    const run = isUuid(runId) ? await this.runs.find(runId) : null;
    if (run?.owner.teamUid !== teamUid) return null;
    const approval = await this.approvals.find(runId, approvalId);
    return approval && { run, approval };
  }

  /** Null: it can be decided in this way. Who denies says nothing to the agent, and needs no right on the environment. */
  async obstacle({ run, approval }: DecisionSubject, choice: DecisionChoice): Promise<ChannelObstacle | null> {
    if (choice.kind === 'deny') return null;
    if (!isShown(approval, choice)) return 'input';
    return (await this.isUsable(run)) ? null : 'environment';
  }

  /** Those that can be decided from a channel. */
  async possible(
    { run, approval }: DecisionSubject,
    choices: readonly DecisionChoice[],
  ): Promise<ReadonlySet<DecisionChoice>> {
    const shown = choices.filter((choice) => choice.kind === 'deny' || isShown(approval, choice));
    const isUsable = shown.every(({ kind }) => kind === 'deny') || (await this.isUsable(run));
    return new Set(isUsable ? shown : shown.filter(({ kind }) => kind === 'deny'));
  }

  private async isUsable({ config: { environment_id: uid }, owner: { teamUid } }: Run): Promise<boolean> {
    return uid === undefined || (await this.environments.findUsable(uid, { teamUid, caller: null })) !== null;
  }

  isExpired({ expiresAt }: SignedDecision): boolean {
    return this.clock.now().getTime() >= expiresAt.getTime();
  }

  async outcome(approval: Approval): Promise<DecisionOutcome> {
    const { decided_by_type: type, decided_by_uid: uid } = approval;
    if (uid === null || (type !== 'user' && type !== 'service_account')) return outcomeOf(approval, null);
    const found = await this.principals.describe([{ type, uid }]);
    return outcomeOf(approval, found.get(uid)?.display_name ?? null);
  }

  /** Decides once, and writes the audit log. `decision`: verified. */
  async decide(decision: SignedDecision, channel: ChannelDecision): Promise<SignedDecisionResult> {
    const { runId, approvalId, choice } = decision;
    const subject = await this.find(decision, channel.teamUid);
    if (!subject) return { kind: 'not_valid' };
    const { approval } = subject;
    if (approval.state === 'pending') {
      if (this.isExpired(decision)) return { kind: 'expired' };
      const reason = await this.obstacle(subject, choice);
      if (reason !== null) return { kind: 'not_allowed', reason };
    }
    const issues = choice.kind === 'text' ? issuesOfText(channel.text ?? '') : [];
    if (approval.state === 'pending' && issues.length > 0) return { kind: 'invalid', issues };
    const given = givenBy(choice, approval, channel.text);
    const { decidedBy, isOpen } = channel;
    const result = await this.approvals.decideFromChannel(runId, approvalId, given, decidedBy, isOpen);
    switch (result.kind) {
      case 'closed':
      case 'not_found':
        return { kind: 'not_valid' };
      case 'invalid':
        return result;
      case 'too_late':
        if (result.approval.state === 'pending') return { kind: 'not_waiting' };
        return { kind: 'already_decided', approval: result.approval, outcome: await this.outcome(result.approval) };
      case 'decided':
        await this.record(decision, given, channel);
        return { kind: 'decided', approval: result.approval, outcome: await this.outcome(result.approval) };
    }
  }

  /** As the log records the operation of the API: after the commit, and the request fails without the entry. */
  private async record(
    { runId, approvalId, channel: { type, uid } }: SignedDecision,
    { decision }: GivenDecision,
    { decidedBy, teamUid, source }: ChannelDecision,
  ): Promise<void> {
    const event: AuditEvent = {
      action: 'approval.decided',
      actor: decidedBy,
      target: { type: 'approval', uid: approvalId },
      source,
      details: { path: { runId, approvalId }, decision, channel: { type, uid } },
    };
    try {
      await this.audit.append(teamUid, event);
    } catch (error) {
      this.logger.error({ msg: 'A decision was made without its entry in the audit log.', team_uid: teamUid, event });
      throw error;
    }
  }
}

/** As the API requires it of an answer. */
function issuesOfText(text: string): Issue[] {
  const issue = (detail: string): Issue[] => [{ pointer: '/text', detail }];
  if (text.trim() === '') return issue('must not be blank');
  if (text.length > MAX_ANSWER_LENGTH) return issue(`must not exceed ${MAX_ANSWER_LENGTH} characters`);
  return isStorableText(text) ? [] : issue('must not contain NUL characters or lone surrogates');
}

function givenBy(choice: DecisionChoice, { options }: Approval, text: string | undefined): GivenDecision {
  const nothing = { note: null, optionId: null, text: null };
  switch (choice.kind) {
    case 'allow':
    case 'deny':
      return { ...nothing, decision: choice.kind };
    case 'option':
      return { ...nothing, decision: 'answer', optionId: options[choice.index]?.option_id ?? '' };
    case 'text':
      return { ...nothing, decision: 'answer', text: text ?? null };
  }
}
