import { maskSecrets } from '#platform/kernel';
import type { RunEvent } from '#execution/runner-protocol';
import { isSettled, mergeCall, planEntries } from './call-merge.js';
import type { ConversationProjection } from './conversation-normalizer.js';
import type { EventName, JsonObject, Step } from './conversation.js';
import {
  type CallState,
  EMPTY_PROJECTION,
  type ProjectionState,
  type LifecycleItem,
  type StepState,
} from './projection-state.js';
import { isObject, listField, textField } from './json-fields.js';
import { renderStep } from './render-step.js';
import { type EventEntry, StepTree } from './step-tree.js';
import { firstLine, summariseJson } from './summarise.js';

/**
 * Projects the log of one run to its conversation. Never throws, whatever the events contain and in whatever order: an
 * event that refers to something unknown is shown where it occurs. Applying events in parts gives the same as at once.
 */
export class RunEventProjection implements ConversationProjection<StepState> {
  private readonly tree: StepTree;
  private seq: number;

  /** Continues from `state` and takes ownership of it. */
  constructor(state: ProjectionState = structuredClone(EMPTY_PROJECTION)) {
    this.seq = state.seq;
    this.tree = new StepTree(state.steps);
  }

  add(events: readonly RunEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.seq) continue;
      this.seq = event.seq;
      this.apply(event);
    }
  }

  /** The state so far: plain JSON, changed by the next `add`. */
  get state(): ProjectionState {
    return { seq: this.seq, steps: this.tree.steps };
  }

  get changedFrom(): number {
    return this.tree.changedFrom;
  }

  get isSettled(): boolean {
    return this.tree.openTurn() === undefined;
  }

  render(): Step[] {
    return this.tree.steps.map(renderStep);
  }

  private apply(event: RunEvent): void {
    const at = event.at.toISOString();
    const data = isObject(event.data) ? event.data : {};
    switch (event.kind) {
      case 'turn_started':
        return this.startTurn(event, data, at);
      case 'turn_ended':
        return this.endTurn(data, at);
      case 'message_chunk':
        return this.appendText(event, 'text', data, at);
      case 'thought_chunk':
        return this.appendText(event, 'thinking', data, at);
      case 'tool_call':
        return this.upsertCall(event, data, at);
      case 'plan':
        return this.replacePlan(event, data, at);
      case 'permission_requested':
        return this.requestPermission(event, data, at);
      case 'permission_decided':
        return this.decidePermission(event, data, at);
      case 'mode_changed':
      case 'output_truncated':
        return this.appendEvent(this.tree.stepFor(event, at), 'system', event.kind, data, at);
      case 'usage':
      case 'workspace_snapshot':
      case 'git_credential_requested':
      case 'answer_failed':
        return;
      case 'run_created':
      case 'run_claimed':
      case 'sandbox_ready':
      case 'workspace_restored':
      case 'setup_started':
      case 'setup_command_finished':
      case 'session_started':
      case 'agent_started':
        return this.appendLifecycle(this.tree.preparingStep(event, at), event, data, at);
      case 'agent_waiting':
      case 'agent_resumed':
      case 'workspace_snapshot_failed':
      case 'interrupt_requested':
      case 'interrupt_failed':
        return this.appendLifecycle(this.tree.lastStep(event, at), event, data, at);
      case 'run_done':
      case 'run_blocked':
      case 'run_cancelled':
      case 'run_failed':
      case 'run_errored':
      case 'run_interrupted':
      case 'followup_received':
      case 'sandbox_shutdown':
        return this.applyRunEnd(event, data, at);
    }
  }

  private startTurn(event: RunEvent, data: JsonObject, at: string): void {
    const id = textField(data, 'turn_id') ?? `turn-${event.seq}`;
    if (this.tree.openTurn()?.id === id) return;
    const step = this.tree.startTurn(id, event, at);
    const prompt = textField(data, 'prompt');
    if (prompt === undefined) return;
    const description = firstLine(prompt);
    if (description !== undefined) step.description = description;
    step.entries.push({ kind: 'user', at, message_id: id, text: prompt });
    const attachments = listField(data, 'attachments');
    if (attachments.length > 0) this.appendEvent(step, 'user', 'attachments', { attachments }, at);
  }

  private endTurn(data: JsonObject, at: string): void {
    const step = this.tree.turn(textField(data, 'turn_id'));
    if (!step) return;
    const reason = textField(data, 'stop_reason') ?? 'end_turn';
    if (reason !== 'end_turn') {
      const message = textField(data, 'message');
      const details = { stop_reason: reason, ...(message !== undefined && { message }) };
      this.appendEvent(step, 'system', 'turn_ended', details, at);
    }
    this.tree.close(step, at, reason === 'end_turn' ? 'completed' : 'failed');
  }

  private appendText(event: RunEvent, kind: 'text' | 'thinking', data: JsonObject, at: string): void {
    const text = textField(data, 'text');
    if (text === undefined) return;
    const step = this.tree.stepFor(event, at, parentOf(data));
    const id = textField(data, 'message_id');
    const last = step.entries.at(-1);
    if (last?.kind === kind && (id === undefined || last.message_id === id)) last.text += text;
    else step.entries.push({ kind, at, ...(id === undefined ? {} : { message_id: id }), text });
  }

  private upsertCall(event: RunEvent, data: JsonObject, at: string): void {
    const id = textField(data, 'tool_call_id') ?? `call-${event.seq}`;
    let call = this.tree.call(id, event);
    if (!call) {
      const parent = parentOf(data);
      const step = this.tree.stepFor(event, at, parent === id ? undefined : parent);
      call = { id } satisfies CallState;
      step.entries.push({ kind: 'call', at, call });
      this.tree.indexCall(call, step);
    }
    mergeCall(call, data);
    if (isSettled(call)) this.tree.completeAgent(id, at);
  }

  private replacePlan(event: RunEvent, data: JsonObject, at: string): void {
    const step = this.tree.stepFor(event, at, parentOf(data));
    const plan = { entries: planEntries(data) };
    const known = this.tree.planOf(step);
    if (known) known.data = plan;
    else this.addEvent(step, { kind: 'event', at, role: 'assistant', name: 'plan', data: plan });
  }

  private requestPermission(event: RunEvent, data: JsonObject, at: string): void {
    const callId = textField(data, 'tool_call_id');
    const step = this.tree.stepOfCall(callId) ?? this.tree.stepFor(event, at, parentOf(data));
    const options = listField(data, 'options');
    const request = {
      approval_id: textField(data, 'approval_id') ?? '',
      ...kindOf(data),
      title: textField(data, 'title') ?? '',
      ...(callId !== undefined && { action_id: callId }),
      ...(options.length > 0 && { options }),
      ...(data['allow_text'] === true && { allow_text: true }),
    };
    this.appendEvent(step, 'system', 'permission_request', request, at);
  }

  private decidePermission(event: RunEvent, data: JsonObject, at: string): void {
    const approvalId = textField(data, 'approval_id');
    const asked = approvalId === undefined ? undefined : this.tree.findApproval(approvalId);
    const { decision, by, title, note, principal, answer } = data;
    const callId = textField(asked?.entry.data, 'action_id');
    const call = callId === undefined ? undefined : this.tree.call(callId, event);
    if (decision === 'deny' && call) call.denied = true;
    const details = Object.entries({
      approval_id: approvalId ?? '',
      ...kindOf(data),
      ...{ decision, by, title, note, answer, principal },
    });
    const known = Object.fromEntries(details.filter(([, value]) => value !== undefined && value !== null));
    this.appendEvent(asked?.step ?? this.tree.lastStep(event, at), 'system', 'permission_decision', known, at);
  }

  /** Events of the server about the run: they also end a turn whose end its runner could not report. */
  private applyRunEnd(event: RunEvent, data: JsonObject, at: string): void {
    const ends = event.kind !== 'run_blocked' && event.kind !== 'followup_received';
    const step = this.tree.lastStep(event, at);
    if (ends) this.tree.close(step, at, event.kind === 'run_done' ? 'completed' : 'failed');
    this.appendLifecycle(step, event, data, at);
  }

  private appendLifecycle(step: StepState, event: RunEvent, data: JsonObject, at: string): void {
    const payload = shown(data);
    const item: LifecycleItem = {
      event_type: event.kind,
      occurred_at: at,
      ...(Object.keys(payload).length === 0 ? {} : { payload }),
    };
    const last = step.entries.at(-1);
    if (last?.kind === 'lifecycle') last.events.push(item);
    else step.entries.push({ kind: 'lifecycle', at, events: [item] });
  }

  private appendEvent(
    step: StepState,
    role: 'user' | 'assistant' | 'system',
    name: EventName,
    data: JsonObject,
    at: string,
  ): void {
    this.addEvent(step, { kind: 'event', at, role, name, data: shown(data) });
  }

  private addEvent(step: StepState, entry: EventEntry): void {
    step.entries.push(entry);
    this.tree.indexEvent(entry, step);
  }
}

/** Permission requests have none. */
const kindOf = (data: JsonObject): JsonObject => (data['kind'] === 'question' ? { kind: 'question' } : {});

const parentOf = (data: JsonObject): string | undefined => textField(data, 'parent_tool_call_id');
/** Enough for a set-up command and its output, which the runner has truncated. */
const SHOWN_EVENT_BYTES = 24_576;
const shown = (data: JsonObject): JsonObject => maskSecrets(summariseJson(data, SHOWN_EVENT_BYTES).value) as JsonObject;
