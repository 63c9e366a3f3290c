import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { newUuid, toStorableJson } from '#platform/kernel';
import type {
  Commands,
  PermissionDecided,
  PermissionRequested,
  PermissionRule,
  PermissionSubject,
} from '#execution/runner-protocol';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { jsonBytes, shrinkText } from '../protocol/shrink.js';
import type { AcpNormalizer } from './normalizer.js';
import {
  decideByPolicy,
  isSameSubject,
  permissionFacts,
  pickOption,
  subjectOf,
  type Answer,
  type PermissionRules,
} from './permissions.js';

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

interface Resolution {
  readonly decision: Answer | 'cancel';
  readonly note?: string | undefined;
  /** The control plane has decided already: an event would be a second entry of the log. */
  readonly isRecorded?: boolean;
}

export class PermissionBroker {
  private readonly waiting = new Map<
    string,
    { readonly subject: PermissionSubject; readonly settle: (resolution: Resolution) => void }
  >();
  private readonly remembered: PermissionRule[];
  /** The turn is cancelled, and the agent has not answered yet. */
  private isTurnCancelled = false;

  constructor(
    private readonly rules: PermissionRules,
    private readonly normalizer: AcpNormalizer,
    private readonly redact: (text: string) => string,
    private readonly workspaceDirectory: string,
    private readonly emit: (event: PlainEvent) => void,
  ) {
    this.remembered = [...(rules.permission_rules ?? [])];
  }

  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  async answer(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const known = this.normalizer.knownCall(request.toolCall.toolCallId);
    const facts = permissionFacts(request.toolCall, known);
    const approvalId = newUuid();
    const wholeTitle = request.toolCall.title ?? known.title ?? 'Permission';
    const title = shrinkText(wholeTitle, 4_096);
    const subject = subjectOf(facts, wholeTitle, this.redact, this.workspaceDirectory);
    const policy = this.isTurnCancelled ? 'cancel' : decideByPolicy(this.rules, facts);
    const rule = policy === 'ask' ? this.remembered.find((one) => isSameSubject(one.subject, subject)) : undefined;
    const resolution = rule ? 'allow' : policy;
    // Agents need not repeat what they have reported of the call.
    const input =
      request.toolCall.rawInput ?? known.input ?? (title === wholeTitle ? undefined : { title: wholeTitle });
    for (const event of this.normalizer.permissionCall(request.toolCall)) this.emit(event);
    const requested: PermissionRequested = {
      approval_id: approvalId,
      tool_call_id: request.toolCall.toolCallId,
      title,
      input: input === undefined ? undefined : wholeOrSize(input),
      options: request.options.map(({ optionId, name, kind }) => ({ option_id: optionId, name, kind })),
      ask: resolution === 'ask',
      subject,
    };
    this.emit({ kind: 'permission_requested', data: { ...requested } });
    const emitDecision = (decision: Pick<PermissionDecided, 'decision' | 'by' | 'rule_id'>): void =>
      this.emit({ kind: 'permission_decided', data: { approval_id: approvalId, ...decision, title } });
    if (resolution === 'cancel') {
      emitDecision({ decision: 'deny', by: 'cancel' });
      return this.respond(request, { decision: resolution });
    }
    if (resolution !== 'ask') {
      emitDecision({ decision: resolution, by: rule ? 'rule' : 'policy', rule_id: rule?.approval_id });
      return this.respond(request, { decision: resolution });
    }
    const answer = await new Promise<Resolution>((settle) => this.waiting.set(approvalId, { subject, settle }));
    this.waiting.delete(approvalId);
    if (answer.decision === 'cancel' && answer.isRecorded !== true) emitDecision({ decision: 'deny', by: 'cancel' });
    return this.respond(request, answer);
  }

  /** Applies decisions of people or of the timeout; the control plane has recorded them already. */
  decide(decisions: Commands['decisions']): void {
    for (const { approval_id: id, decision, always = false, note } of decisions) {
      const question = this.waiting.get(id);
      if (!question) continue;
      const isRule = always && decision === 'allow';
      if (isRule) this.remembered.push({ approval_id: id, subject: question.subject });
      question.settle({ decision: isRule ? 'allow_always' : decision, note });
    }
  }

  cancelAll(): void {
    for (const { settle } of this.waiting.values()) settle({ decision: 'cancel' });
  }

  startTurn(): void {
    this.isTurnCancelled = false;
  }

  /** The Agent Client Protocol requires this answer to all requests of a cancelled turn. `decided`: by the control plane. */
  cancelTurn(decided: Commands['decisions']): void {
    this.isTurnCancelled = true;
    const recorded = new Set(decided.map(({ approval_id: id }) => id));
    for (const [id, { settle }] of this.waiting) settle({ decision: 'cancel', isRecorded: recorded.has(id) });
  }

  private respond(request: RequestPermissionRequest, { decision, note }: Resolution): RequestPermissionResponse {
    if (decision === 'deny' || decision === 'cancel') this.normalizer.markDenied(request.toolCall.toolCallId);
    if (decision === 'cancel') return CANCELLED;
    const optionId = pickOption(request.options, decision);
    if (optionId === null) return CANCELLED;
    return { outcome: { outcome: 'selected', optionId, ...(note === undefined ? {} : { _meta: { note } }) } };
  }
}

const MAX_INPUT_BYTES = 131_072;

/** A person must not allow an input of which a part is left out or was changed. */
function wholeOrSize(input: unknown): unknown {
  const { value, changed } = toStorableJson(input);
  const bytes = jsonBytes(value);
  return bytes <= MAX_INPUT_BYTES && !changed ? value : { truncated: true, size_bytes: bytes };
}
