import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { newUuid, toStorableJson } from '#libs/kernel';
import type { Commands, PermissionDecided, PermissionRequested } from '#libs/runner-protocol';
import type { PlainEvent } from '../protocol/coalesce.js';
import { shrinkJson, shrinkText } from '../protocol/shrink.js';
import type { AcpNormalizer } from './normalizer.js';
import { decideByPolicy, permissionFacts, pickOption, type Decision, type PermissionRules } from './permissions.js';
import { withoutBinary } from './tool-content.js';

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

interface Verdict {
  readonly decision: Decision | 'cancel';
  readonly note?: string;
}

/** Answers the agent's permission requests: by the run's policy, or by waiting for a person's word. */
export class PermissionDesk {
  private readonly waiting = new Map<string, (verdict: Verdict) => void>();

  constructor(
    private readonly rules: PermissionRules,
    private readonly normalizer: AcpNormalizer,
    private readonly emit: (event: PlainEvent) => void,
  ) {}

  async answer(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const verdict = decideByPolicy(this.rules, permissionFacts(request.toolCall));
    const approvalId = newUuid();
    const title = shrinkText(request.toolCall.title ?? 'Permission', 4_096);
    const input = request.toolCall.rawInput;
    for (const event of this.normalizer.permissionCall(request.toolCall)) this.emit(event);
    this.emitData('permission_requested', {
      approval_id: approvalId,
      tool_call_id: request.toolCall.toolCallId,
      title,
      ...(input === undefined ? {} : { input: shrinkJson(withoutBinary(toStorableJson(input).value), 65_536) }),
      options: request.options.map(({ optionId, name, kind }) => ({ option_id: optionId, name, kind })),
      ask: verdict === 'ask',
    } satisfies PermissionRequested);
    if (verdict !== 'ask') {
      this.emitData('permission_decided', {
        approval_id: approvalId,
        decision: verdict,
        by: 'policy',
        title,
      } satisfies PermissionDecided);
      return this.respond(request, { decision: verdict });
    }
    const answer = await new Promise<Verdict>((resolve) => this.waiting.set(approvalId, resolve));
    this.waiting.delete(approvalId);
    if (answer.decision === 'cancel') {
      this.emitData('permission_decided', {
        approval_id: approvalId,
        decision: 'deny',
        by: 'cancel',
        title,
      } satisfies PermissionDecided);
    }
    return this.respond(request, answer);
  }

  /** What people (or the time-out) have decided; the control plane has recorded it already. */
  decide(decisions: Commands['decisions']): void {
    for (const { approval_id: id, decision, note } of decisions) {
      this.waiting.get(id)?.({ decision, ...(note === undefined ? {} : { note }) });
    }
  }

  /** The turn ends: nobody will answer any more. */
  cancelAll(): void {
    for (const settle of this.waiting.values()) settle({ decision: 'cancel' });
  }

  private respond(request: RequestPermissionRequest, { decision, note }: Verdict): RequestPermissionResponse {
    if (decision !== 'allow') this.normalizer.markDenied(request.toolCall.toolCallId);
    if (decision === 'cancel') return CANCELLED;
    const optionId = pickOption(request.options, decision);
    if (optionId === null) return CANCELLED;
    return { outcome: { outcome: 'selected', optionId, ...(note === undefined ? {} : { _meta: { note } }) } };
  }

  private emitData(kind: 'permission_requested' | 'permission_decided', data: object): void {
    this.emit({ kind, data: { ...data } });
  }
}
