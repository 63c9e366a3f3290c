import { createHash } from 'node:crypto';
import { type Issue, truncateUtf8 } from '#platform/kernel';
import { fields } from '#execution/runner';
import {
  type ApprovalKind,
  PERMISSION_SUBJECTS,
  type PermissionDecided,
  type PermissionRequested,
  type PermissionSubject,
  type QuestionAnswer,
} from '#execution/runner-protocol';
import type { PrincipalRef } from './run.js';

/** `notification_webhook`: a reader of its channel. `chat_user`: an account of a chat service. */
export const CHANNEL_DECIDERS = ['notification_webhook', 'chat_user'] as const;
/** Who decides by a signed decision in a message. */
export interface ChannelDecider {
  readonly type: (typeof CHANNEL_DECIDERS)[number];
  readonly uid: string;
  /** As it is now; the decision keeps it. */
  readonly name: string;
}
export type Decider = PrincipalRef | ChannelDecider;

export const isChannel = (decider: Decider): decider is ChannelDecider =>
  CHANNEL_DECIDERS.some((type) => type === decider.type);

/** `answered`: only of questions. A question without an answer is `denied`. */
export const APPROVAL_STATES = ['pending', 'allowed', 'denied', 'answered'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];
/**
 * `rule`: by an answer that was given for the rest of the run. `cancel`: nobody waits for an answer any more. `channel`: by a
 * signed decision in a message, for which no user has authenticated.
 */
export const DECISION_MAKERS = ['user', 'rule', 'timeout', 'cancel', 'channel'] as const;
export type DecisionMaker = (typeof DECISION_MAKERS)[number];
/** `allow_always`: this request, and the same kind of it for the rest of the run. `answer`: of a question. */
export const APPROVAL_DECISIONS = ['allow', 'allow_always', 'deny', 'answer'] as const;
export type ApprovalDecisionWord = (typeof APPROVAL_DECISIONS)[number];

export interface Approval {
  readonly id: string;
  readonly run_id: string;
  readonly execution_id: string;
  readonly kind: ApprovalKind;
  readonly tool_call_id: string | null;
  readonly title: string;
  readonly input: unknown;
  readonly options: { option_id: string; name: string; kind: string }[];
  /** Of a question: it may be answered with a text. */
  readonly allow_text: boolean;
  /** What makes requests the same; null for questions, and in requests of older versions. */
  readonly subject: PermissionSubject | null;
  readonly state: ApprovalState;
  /** Of an answered question. */
  readonly answer: QuestionAnswer | null;
  /** The decision counts for the rest of the run: the approval is a rule. */
  readonly always: boolean;
  /** The rule that has decided. */
  readonly rule_id: string | null;
  readonly decided_via: DecisionMaker | null;
  readonly decided_by_type: Decider['type'] | null;
  readonly decided_by_uid: string | null;
  /** Only with `decided_via: channel`. */
  readonly decided_by_name: string | null;
  readonly note: string | null;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
}

/** As a person sends it. */
export interface GivenDecision {
  readonly decision: ApprovalDecisionWord;
  readonly note: string | null;
  readonly optionId: string | null;
  readonly text: string | null;
}

export interface ApprovalDecision {
  readonly state: Exclude<ApprovalState, 'pending'>;
  readonly answer?: QuestionAnswer;
  readonly always?: boolean;
  readonly via: DecisionMaker;
  readonly by: Decider | null;
  readonly note: string | null;
}

const APPROVAL_ID = /^[A-Za-z0-9._-]{1,128}$/;
const MAX_TITLE_BYTES = 8_192;
const MAX_SUBJECT_LENGTH = 2_048;
const MAX_ID_LENGTH = 256;
const MAX_OPTION_NAME_BYTES = 512;
const HASH = /^[0-9a-f]{64}$/;
const HASHED_TITLE = /^sha256:[0-9a-f]{64}$/;
const MAX_OPTIONS = 32;
const MAX_INPUT_BYTES = 131_072;

const DECISION_OF = { allowed: 'allow', denied: 'deny', answered: 'answer' } as const;

export function decidedEvent(
  approval: Pick<Approval, 'id' | 'kind' | 'title' | 'rule_id'>,
  { state, always, via, by, note, answer }: ApprovalDecision,
): { readonly kind: 'permission_decided'; readonly data: PermissionDecided } {
  const data: PermissionDecided = {
    approval_id: approval.id,
    ...(approval.kind === 'question' ? { kind: approval.kind } : {}),
    decision: DECISION_OF[state],
    ...(answer === undefined ? {} : { answer }),
    by: via,
    ...(always === true ? { always } : {}),
    ...(approval.rule_id === null ? {} : { rule_id: approval.rule_id }),
    title: approval.title,
    ...(note === null ? {} : { note }),
    ...(by === null ? {} : { principal: { type: by.type, uid: by.uid, ...(isChannel(by) && { name: by.name }) } }),
  };
  return { kind: 'permission_decided', data };
}

/** What is wrong with a person's decision on this approval; empty: nothing. */
export function issuesOf(
  { kind, options, allow_text: allowsText }: Pick<Approval, 'kind' | 'options' | 'allow_text'>,
  { decision, note, optionId, text }: GivenDecision,
): Issue[] {
  const words = APPROVAL_DECISIONS.filter((word) => word === 'deny' || (word === 'answer') === (kind === 'question'));
  if (!words.includes(decision))
    return [{ pointer: '/decision', detail: `must be one of ${words.join(', ')} for a ${NAME_OF[kind]}` }];
  const onlyAnswer = 'is only allowed with the decision `answer`';
  if (decision !== 'answer')
    return [
      ...(optionId === null ? [] : [{ pointer: '/option_id', detail: onlyAnswer }]),
      ...(text === null ? [] : [{ pointer: '/text', detail: onlyAnswer }]),
    ];
  const issues: Issue[] = [];
  const ids = options.map(({ option_id: id }) => id);
  if (optionId === null && text === null)
    issues.push(
      options.length === 0
        ? { pointer: '/text', detail: 'is required' }
        : { pointer: '/option_id', detail: allowsText ? 'is required without `text`' : 'is required' },
    );
  if (optionId !== null && !ids.includes(optionId))
    issues.push({
      pointer: '/option_id',
      detail: ids.length === 0 ? 'is not allowed: the question has no options' : `must be one of ${ids.join(', ')}`,
    });
  if (text !== null && !allowsText)
    issues.push({ pointer: '/text', detail: 'is not allowed: the question accepts only one of its options' });
  if (note !== null) issues.push({ pointer: '/note', detail: 'is not allowed with the decision `answer`; use `text`' });
  return issues;
}

const NAME_OF: Readonly<Record<ApprovalKind, string>> = { permission: 'permission request', question: 'question' };

/** Of a decision without issues. */
export function answerOf({ options }: Pick<Approval, 'options'>, { optionId, text }: GivenDecision): QuestionAnswer {
  const option = options.find(({ option_id: id }) => id === optionId);
  return {
    ...(option === undefined ? {} : { option_id: option.option_id, option: option.name }),
    ...(text === null ? {} : { text }),
  };
}

export type ReadRequest = Omit<PermissionRequested, 'subject'> & {
  readonly kind: ApprovalKind;
  readonly allow_text: boolean;
  /** Null: no rule covers it, because it is a question. */
  readonly subject: PermissionSubject | null;
};

/** A request as a runner tells it, in the shape that it should have; null when nobody could ever answer it. */
export function readRequest(data: Readonly<Record<string, unknown>>): ReadRequest | null {
  const { approval_id: id, tool_call_id: callId, title: given, input, options: all, ask, subject } = data;
  if (typeof id !== 'string' || !APPROVAL_ID.test(id)) return null;
  const kind = data['kind'] === 'question' ? 'question' : 'permission';
  const whole = typeof given === 'string' && given !== '' ? given : kind === 'question' ? 'Question' : 'Permission';
  const title = truncateUtf8(whole, MAX_TITLE_BYTES).text;
  const options = (Array.isArray(all) ? all : []).slice(0, MAX_OPTIONS).flatMap(readOption);
  return {
    approval_id: id,
    kind,
    ...(typeof callId === 'string' && callId.length <= MAX_ID_LENGTH ? { tool_call_id: callId } : {}),
    title,
    ...(input === undefined ? {} : { input: bounded(input) }),
    options,
    // Without options and text it could never be answered.
    allow_text: kind === 'question' && (data['allow_text'] === true || options.length === 0),
    ask: ask === true,
    subject: kind === 'question' ? null : (readSubject(subject) ?? { type: 'title', value: subjectValue(whole) }),
  };
}

/** An answer for always must not cover what only begins the same. */
const subjectValue = (title: string): string =>
  title.length <= MAX_SUBJECT_LENGTH && !HASHED_TITLE.test(title)
    ? title
    : `sha256:${createHash('sha256').update(title).digest('hex')}`;

/** Our runner has cut it before; lists show many of them. */
function bounded(input: unknown): unknown {
  const bytes = Buffer.byteLength(JSON.stringify(input));
  return bytes <= MAX_INPUT_BYTES ? input : { truncated: true, size_bytes: bytes };
}

function readOption(value: unknown): { option_id: string; name: string; kind: string }[] {
  const { option_id: id, name, kind } = fields(value);
  const isShort = (text: unknown): text is string => typeof text === 'string' && text.length <= MAX_ID_LENGTH;
  if (!isShort(id) || typeof name !== 'string' || !isShort(kind)) return [];
  return [{ option_id: id, name: truncateUtf8(name, MAX_OPTION_NAME_BYTES).text, kind }];
}

function readSubject(given: unknown): PermissionSubject | null {
  const { type: word, value, tool, directory, input_sha256: inputHash } = fields(given);
  const type = PERMISSION_SUBJECTS.find((known) => known === word);
  const isText = (text: unknown): text is string => typeof text === 'string' && text.length <= MAX_SUBJECT_LENGTH;
  const isOptionalText = (text: unknown): text is string | undefined => text === undefined || isText(text);
  if (type === undefined || !isText(value) || !isOptionalText(tool) || !isOptionalText(directory)) return null;
  if (inputHash !== undefined && !(typeof inputHash === 'string' && HASH.test(inputHash))) return null;
  return {
    type,
    value,
    ...(tool === undefined ? {} : { tool }),
    ...(directory === undefined ? {} : { directory }),
    ...(inputHash === undefined ? {} : { input_sha256: inputHash }),
  };
}
