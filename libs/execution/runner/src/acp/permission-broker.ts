import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { newUuid, toStorableJson } from '#platform/kernel';
import type {
  Commands,
  PermissionDecided,
  PermissionRequested,
  PermissionRule,
  PermissionSubject,
  QuestionAnswer,
} from '#execution/runner-protocol';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { onAbort } from '../retry.js';
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

type CommandedDecision = Commands['decisions'][number];

interface Resolution extends Pick<CommandedDecision, 'answer' | 'answered_by'> {
  readonly decision: Answer | 'answer' | 'cancel';
  readonly note?: string | undefined;
  /** The control plane has decided already: an event would be a second entry of the log. */
  readonly isRecorded?: boolean;
}

export interface Question {
  readonly text: string;
  readonly options: readonly string[];
  /** It may be answered with a text. */
  readonly allowText: boolean;
}

export type QuestionResult =
  | { readonly kind: 'answered'; readonly answer: QuestionAnswer; readonly by: CommandedDecision['answered_by'] }
  /** `note`: why. */
  | { readonly kind: 'unanswered'; readonly note: string | undefined }
  | { readonly kind: 'withdrawn' | 'no_turn' | 'too_many' };

/** An agent that asks in a loop must not fill the inbox. */
const MAX_OPEN_QUESTIONS = 10;
/** Time for an agent that has given up waiting to ask the same again. */
const ABANDONED_MS = 120_000;

interface OpenQuestion {
  readonly result: Promise<QuestionResult>;
  /** False: it was decided before. */
  readonly withdraw: () => boolean;
  /** Calls of the agent that wait for the result. */
  waiting: number;
  timer: NodeJS.Timeout | undefined;
}

/** What an agent waits for: permission requests, and questions to a person. */
export class PermissionBroker {
  private readonly waiting = new Map<
    string,
    {
      /** Null: a question. */
      readonly subject: PermissionSubject | null;
      readonly settle: (resolution: Resolution) => void;
    }
  >();
  /** By what was asked. An answer that nobody has waited for stays until the end of the turn. */
  private readonly questions = new Map<string, OpenQuestion>();
  private readonly remembered: PermissionRule[];
  /** The turn is cancelled, and the agent has not answered yet. */
  private isTurnCancelled = false;
  private isInTurn = false;
  private turn = new AbortController();

  constructor(
    private readonly rules: PermissionRules,
    private readonly normalizer: AcpNormalizer,
    private readonly redact: (text: string) => string,
    private readonly workspaceDirectory: string,
    private readonly emit: (event: PlainEvent) => void,
    /** Use of the tool needs no permission: a person decides about what it does. */
    private readonly freeTool: string | null = null,
  ) {
    this.remembered = [...(rules.permission_rules ?? [])];
  }

  /** Aborts when the turn ends or is cancelled. */
  get turnSignal(): AbortSignal {
    return this.turn.signal;
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
    const isFree = this.freeTool !== null && facts.toolName === this.freeTool;
    const policy = this.isTurnCancelled ? 'cancel' : isFree ? 'allow' : decideByPolicy(this.rules, facts);
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

  /**
   * Asks a person, whatever the policy. `signal`: the agent does not wait any more. Many give up after a minute: the same question
   * again continues to wait, or returns the answer that has arrived meanwhile.
   */
  async ask(question: Question, signal: AbortSignal): Promise<QuestionResult> {
    if (!this.isInTurn) return { kind: 'no_turn' };
    if (this.isTurnCancelled || signal.aborted) return { kind: 'withdrawn' };
    const key = JSON.stringify([question.text, question.options, question.allowText]);
    const known = this.questions.get(key);
    if (!known && this.questions.size >= MAX_OPEN_QUESTIONS) return { kind: 'too_many' };
    const open = known ?? this.open(question);
    this.questions.set(key, open);
    clearTimeout(open.timer);
    open.waiting += 1;
    const result = await untilAborted(open.result, signal);
    open.waiting -= 1;
    if (result !== null) {
      this.questions.delete(key);
      return result;
    }
    if (open.waiting === 0)
      open.timer = setTimeout(() => {
        // An answer that has arrived meanwhile stays for the next call.
        if (open.withdraw()) this.questions.delete(key);
      }, ABANDONED_MS).unref();
    return { kind: 'withdrawn' };
  }

  private open({ text, options, allowText }: Question): OpenQuestion {
    const approvalId = newUuid();
    const requested: PermissionRequested = {
      approval_id: approvalId,
      kind: 'question',
      title: text,
      options: options.map((name, index) => ({ option_id: String(index + 1), name, kind: 'answer' })),
      allow_text: allowText,
      ask: true,
    };
    this.emit({ kind: 'permission_requested', data: { ...requested } });
    let resolve: (result: QuestionResult) => void = () => undefined;
    const result = new Promise<QuestionResult>((done) => (resolve = done));
    const settle = ({ decision, note, isRecorded, answer, answered_by: by }: Resolution): void => {
      if (!this.waiting.delete(approvalId)) return;
      if (decision === 'answer' && answer !== undefined) {
        // The text of the option as the agent has written it: secrets in it are hidden from people.
        const option = options[Number(answer.option_id) - 1];
        return resolve({ kind: 'answered', answer: option === undefined ? answer : { ...answer, option }, by });
      }
      if (decision !== 'cancel') return resolve({ kind: 'unanswered', note });
      const decided: PermissionDecided = { approval_id: approvalId, kind: 'question', decision: 'deny', by: 'cancel' };
      if (isRecorded !== true) this.emit({ kind: 'permission_decided', data: { ...decided, title: text } });
      resolve({ kind: 'withdrawn' });
    };
    this.waiting.set(approvalId, { subject: null, settle });
    const withdraw = (): boolean => {
      const isOpen = this.waiting.has(approvalId);
      settle({ decision: 'cancel' });
      return isOpen;
    };
    return { result, withdraw, waiting: 0, timer: undefined };
  }

  /** Applies decisions of people or of the timeout; the control plane has recorded them already. */
  decide(decisions: Commands['decisions']): void {
    for (const { approval_id: id, decision, always = false, note, answer, answered_by } of decisions) {
      const request = this.waiting.get(id);
      if (!request) continue;
      const isRule = always && decision === 'allow' && request.subject !== null;
      if (isRule) this.remembered.push({ approval_id: id, subject: request.subject });
      request.settle({ decision: isRule ? 'allow_always' : decision, note, answer, answered_by });
    }
  }

  cancelAll(): void {
    for (const { settle } of this.waiting.values()) settle({ decision: 'cancel' });
  }

  startTurn(): void {
    this.isTurnCancelled = false;
    this.isInTurn = true;
    this.turn = new AbortController();
  }

  /** Nobody waits for the answers any more: the agent has answered its prompt. */
  endTurn(): void {
    this.isInTurn = false;
    this.turn.abort();
    for (const { withdraw, timer } of this.questions.values()) {
      clearTimeout(timer);
      withdraw();
    }
    this.questions.clear();
  }

  /** The Agent Client Protocol requires this answer to all requests of a cancelled turn. `decided`: by the control plane. */
  cancelTurn(decided: Commands['decisions']): void {
    this.isTurnCancelled = true;
    this.turn.abort();
    const recorded = new Set(decided.map(({ approval_id: id }) => id));
    for (const [id, { settle }] of this.waiting) settle({ decision: 'cancel', isRecorded: recorded.has(id) });
  }

  private respond(request: RequestPermissionRequest, { decision, note }: Resolution): RequestPermissionResponse {
    if (decision === 'deny' || decision === 'cancel') this.normalizer.markDenied(request.toolCall.toolCallId);
    // `answer` answers questions only.
    if (decision === 'cancel' || decision === 'answer') return CANCELLED;
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

/** Null: aborted before the result. */
function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const isAborted = new Promise<null>((resolve) => onAbort(signal, () => resolve(null)));
  return Promise.race([result, isAborted]);
}
